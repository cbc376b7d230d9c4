// The second level by time: physically indexed, so that pages that map to the same sets must be found.
#pragma once

#include "caches/infer/findings.hpp"
#include "caches/infer/sampler.hpp"
#include "caches/infer/translation.hpp"

#include <cstdint>

namespace recount::caches {

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
void fill_second_level(LevelFinding& level, CachedSampler& cached, Sampler& sampler,
                       const SecondLevelTask& task);

} // namespace recount::caches
