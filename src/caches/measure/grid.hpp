// The grid of sizes and strides that a laboratory measures by hand: the kernel stride, powers of two.
#pragma once

#include "caches/measure/study.hpp"

namespace recount::caches {

/// Measures the grid in this process and hands the observations on.
void take_grid(const CachesTask& task, const std::vector<GridPoint>& points,
               const std::function<void(const result::Observation&)>& observed);

} // namespace recount::caches
