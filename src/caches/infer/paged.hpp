// A physically indexed level by time: capacity and ways under random page placement.
#pragma once

#include "caches/infer/colours.hpp"
#include "caches/infer/inference.hpp"

namespace recount::caches {

/// What is known of the levels above when it is looked at.
struct PagedTask {
  std::size_t level = 1; ///< 0: the first
  double first_hit = 0, hit = 0,
         next_hit = 0; ///< ns: of the first level, of this one, of the one that serves its misses
  std::int64_t line = 64, capacity_above = 0, ways_above = 0; ///< bytes, bytes, ways
  std::int64_t around = 0;                                    ///< bytes: where it begins to overflow
  bool next_is_level = true; ///< the miss time is nearly the same at different sizes
  const Translation* translation = nullptr;
};

/// Fills in capacity, ways and line of the level.
void fill_from_pages(LevelFinding& level, CachedSampler& cached, Sampler& sampler, const PagedTask& task);

} // namespace recount::caches
