// Data TLBs: entries and miss penalties.
#pragma once

#include "caches/infer/findings.hpp"
#include "caches/infer/gauge.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::caches {

/// One line per page against as many lines side by side: additional cost of the pages, ns per visit.
struct PagePoint {
  std::int64_t pages = 0;
  double cost = 0;
};

/// One level of TLB.
struct TranslationLevel {
  Boundary pages;             ///< most that all are translated by it, least that are not
  std::int64_t half = 0;      ///< number of pages at which half of the visits miss; 0: not measured
  std::optional<double> cost; ///< of a miss that the next level serves, or of a walk after the last, ns
  double at_exceeds = 1;      ///< share of the step at pages.exceeds
  /// Share of the rise that as many lines in half as many pages show: what caches add, not translation.
  /// Nothing: not measured.
  std::optional<double> of_lines;
  bool contradicted = false; ///< other readings show the rise elsewhere
};

struct Translation {
  std::vector<PagePoint> curve;
  std::vector<TranslationLevel> levels;

  /// What a visit to one of `pages` pages chosen at random costs beyond the cache, ns.
  [[nodiscard]] double random_cost(std::int64_t pages) const;
};

/// `line` bytes; never throws for want of evidence.
[[nodiscard]] Translation find_translation(CachedSampler& cached, std::int64_t line);

/// `exact`: from counts without noise.
[[nodiscard]] std::vector<TlbFinding> tlb_findings(const Translation& translation, bool exact);

/// By time, where it was not measured what as many lines in half as many pages cost: removes the entries
/// beyond the first TLB that are as many as the first cache has lines or sets. One line per page and adjacent
/// lines then cost different times in the cache.
void doubt_tlbs(std::vector<TlbFinding>& tlbs, const Translation& translation, const LevelFinding& first);

} // namespace recount::caches
