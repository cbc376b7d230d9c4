// Estimated time to simulate a matrix product.
#pragma once

#include "sweep/session.hpp"

namespace recount::sweep {

/// simulated_seconds() of a matrix product.
[[nodiscard]] double matmul_simulated_seconds(const Job& job);

} // namespace recount::sweep
