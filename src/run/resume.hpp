// The jobs of a plan that a results file lacks.
#pragma once

#include "run/result/results_file.hpp"
#include "run/sweep_plan.hpp"

#include <vector>

namespace recount::sweep {

/// The jobs that a file does not yet hold: each is left with the metrics that are missing. A failure of a
/// job counts as its result.
[[nodiscard]] std::vector<Job> remaining(const std::vector<Job>& jobs, const result::Results& recorded);

} // namespace recount::sweep
