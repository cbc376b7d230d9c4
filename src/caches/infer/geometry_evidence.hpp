// The properties of a level from its geometry, with their evidence.
#pragma once

#include "caches/infer/findings.hpp"
#include "caches/infer/gauge.hpp"

namespace recount::caches {

/// Fills in capacity, line and ways from level.geometry, or why they are unknown. `quantity`: "L1d misses per
/// access"; `exact`: counts without noise.
void fill_from_geometry(LevelFinding& level, Gauge& gauge, const std::string& quantity, bool exact);

} // namespace recount::caches
