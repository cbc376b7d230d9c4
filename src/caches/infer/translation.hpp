// Data TLBs: how many pages are translated without asking further, and what asking costs.
#pragma once

#include "caches/infer/search.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::analysis {

/// Lines one a page against as many lines side by side: what the pages cost more, ns a visit or misses.
struct PagePoint {
  std::int64_t pages = 0;
  double cost = 0;
};

/// One level of TLB.
struct TranslationLevel {
  Boundary pages;             ///< most that all are translated by it, least that are not
  std::int64_t half = 0;      ///< at so many pages half of the visits miss; 0: not looked for
  std::optional<double> cost; ///< of a miss that the next level serves, or of a walk after the last, ns
};

struct Translation {
  std::vector<PagePoint> curve;
  std::vector<TranslationLevel> levels;
  std::string unknown; ///< why there are none, or no more

  /// What a visit to one of `pages` pages chosen at random costs beyond the cache, ns.
  [[nodiscard]] double random_cost(std::int64_t pages) const;
  /// The same for pages visited in turn, which miss as soon as they do not all fit.
  [[nodiscard]] double cyclic_cost(std::int64_t pages) const;
};

/// `line` bytes; never throws for want of evidence.
[[nodiscard]] Translation find_translation(Notebook& notebook, std::int64_t line);

} // namespace recount::analysis
