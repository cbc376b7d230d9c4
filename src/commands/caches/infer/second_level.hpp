// The second level by time: physically indexed, so that pages that map to the same sets must be found.
#pragma once

#include "commands/caches/infer/findings.hpp"
#include "commands/caches/infer/sampler.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace recount::caches {

// Data TLBs: entries and miss penalties.

/// One line per page against as many lines side by side: additional cost of the pages, ns per visit.
struct PagePoint {
  std::int64_t pages = 0;
  double cost = 0;
};

/// One level of TLB.
struct TranslationLevel {
  Boundary pages;        ///< most that all are translated by it, least that are not
  std::int64_t half = 0; ///< number of pages at which half of the visits miss; 0: not measured
  /// Of a miss that the next level serves, or of a walk after the last, ns; nothing: misses were counted.
  std::optional<double> cost;
  double at_exceeds = 1; ///< share of the step at pages.exceeds
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

[[nodiscard]] std::vector<TlbFinding> tlb_findings(const Translation& translation);

/// Removes TLB levels beyond the first that a cache may have caused: as many entries as the first cache has
/// lines or sets, and no measurement of as many lines in half as many pages. One line per page and adjacent
/// lines then cost different times in the cache.
void discard_cache_effects(std::vector<TlbFinding>& tlbs, const Translation& translation,
                           const LevelFinding& first);

/// What is known of the level and those above when its geometry is looked for.
struct SecondLevelTask {
  double first_hit = 0, hit = 0, next_hit = 0; ///< ns: of the first level, of this one, of the next
  std::int64_t line = 64;                      ///< bytes
  std::int64_t ways_above = 0;
  std::int64_t page_sets_above = 1; ///< sets of the first level that lines at one page offset fall into
  std::int64_t onset = 0;           ///< bytes: where it begins to overflow
  bool next_is_level = true;        ///< the miss time is nearly the same at different sizes
  const Translation* translation = nullptr;
};

/// Fills in capacity, ways and line of the level, or why they are unknown.
void fill_second_level(LevelFinding& level, CachedSampler& cached, const SecondLevelTask& task);

} // namespace recount::caches
