// Which kernel, at which point, tests which preset: the table behind `recount check` and recount-kernels(7).
#pragma once

#include "kernel/kernel.hpp"
#include "model/machine.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount::kernel {

/// One way to test a preset: execute the kernel at the point, count, and compare with Kernel::expected(), or
/// with Kernel::simulate() where that states nothing for the preset.
struct Proof {
  std::string preset; ///< "PAPI_BR_INS", or an event ("perf::PAGE-FAULTS")
  const Kernel* kernel = nullptr;
  result::Params point; ///< complete
  double tolerance = 0; ///< share of the expected value by which a sound count may differ
  std::string why;      ///< why this point provokes the event, in a clause
};

/// A preset that no user code can provoke to a known count, and why.
struct Unprovable {
  std::string preset, reason;
};

/// All proofs for a machine with these caches; without caches, those that need none.
[[nodiscard]] std::vector<Proof> proofs(const std::optional<model::MachineDescription>& machine);
/// The standard presets that have no proof, each with its reason.
[[nodiscard]] std::span<const Unprovable> unprovable();

} // namespace recount::kernel
