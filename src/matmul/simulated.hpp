// How long the model takes for a matrix product.
#pragma once

#include "sweep/session.hpp"

namespace recount::study {

/// Processor seconds that a job of a model's witness is likely to take, mostly within a factor of three: a
/// table that was measured, scaled to the job's size. 0 for what is known without simulating. Throws
/// recount::Error (bad_input) for a machine that is not described.
[[nodiscard]] double simulated_seconds(const sweep::Job& job);

} // namespace recount::study
