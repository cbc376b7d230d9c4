// Capacity, line and ways of the first level by time: conflict sets decide, the onset of misses confirms.
#pragma once

#include "caches/infer/geometry.hpp"

namespace recount::caches {

/// `gauge` tells the share of the visits that miss, from time; `onset` is where a survey of working sets
/// begins to rise, in bytes. Never throws for lack of evidence: the members give the reasons.
[[nodiscard]] Geometry find_timed_geometry(CachedSampler& cached, Gauge& gauge, std::int64_t onset);

} // namespace recount::caches
