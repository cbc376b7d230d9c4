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
  Params point;         ///< complete
  double tolerance = 0; ///< share of the expected value by which a sound count may differ
  std::string why;      ///< why this point provokes the event, in a clause
};

/// The other presets that are stated at the points of proofs(), zeros too: of the points that state a preset
/// those that exclude other presets, or multiples of presets, twice each where possible, and the sum and the
/// difference with each other preset once. Only presets that have a proof. Not those that a correct counter
/// may count otherwise there (the rows "doubt" of data/proofs.txt).
[[nodiscard]] std::vector<Proof> side_proofs(const std::optional<model::MachineDescription>& machine);

/// A count as a multiple of the same preset's count at another point.
struct Relation {
  std::string preset;
  const Kernel* kernel = nullptr;
  Params point; ///< complete
  const Kernel* base_kernel = nullptr;
  Params base_point;
  double least = 0, most = 0;
  std::string why;
};
[[nodiscard]] std::vector<Relation> relations(const std::optional<model::MachineDescription>& machine);

/// All proofs for a machine with these caches; without caches, those that need none.
[[nodiscard]] std::vector<Proof> proofs(const std::optional<model::MachineDescription>& machine);
/// A preset that no user code can provoke to a known count, or only on some architectures, and why.
struct Unprovable {
  std::string preset, reason;
};
/// The standard presets that have no proof, each with its reason.
[[nodiscard]] std::span<const Unprovable> unprovable();

/// One point of one kernel and the presets that it tests, as in data/proofs.txt. A row that names a level of
/// the caches does not count for machines without it.
struct ProofRow {
  std::string kernel;
  std::string point;   ///< "name=value name=value"
  std::string presets; ///< separated by spaces
  double tolerance;    ///< see Proof
  std::string why;
};

[[nodiscard]] std::span<const ProofRow> proof_rows();

/// The presets that no row tests, or only on some architectures.
[[nodiscard]] std::span<const Unprovable> unprovable_rows();

} // namespace recount::kernel
