// Estimated time of simulations.
#pragma once

#include "sweep/plan.hpp"

#include <vector>

namespace recount::sweep {

/// CPU seconds that a job of a model's witness is likely to take, mostly within a factor of three: times that
/// were measured, scaled to the job's size. 0 for what is known without simulating. Throws recount::Error
/// (bad_input) for a machine that is not described.
[[nodiscard]] double simulated_seconds(const Job& job);

/// Seconds that the model's jobs among these take together, `parallel` at a time.
[[nodiscard]] double model_seconds(const std::vector<Job>& jobs, int parallel);

} // namespace recount::sweep
