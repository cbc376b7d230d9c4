// `matmul` under the model, access by access and as a nest.
#pragma once

#include "kernel/kernel.hpp"
#include "model/accelerated/nest.hpp"

namespace recount::kernel {

/// Kernel::simulate() of `matmul` without any shortcut: every access is replayed. The reference for
/// simulate(). Returns the accesses; throws recount::Error (bad_input) for a bad point.
std::int64_t replay_matmul(const result::Params& point, model::Hierarchy& caches);

/// The loops and accesses at a point.
[[nodiscard]] model::Nest matmul_nest(const result::Params& point);

} // namespace recount::kernel
