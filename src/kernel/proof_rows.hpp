// The table of proofs as it is written: points of kernels, and the presets that each tests.
#pragma once

#include <cstdint>
#include <span>

namespace recount::kernel {

/// A size that follows a machine's caches: `times` the capacity of `level` (1: the first data cache; 0:
/// none).
struct Scaled {
  int level = 0;
  double times = 0;
};

/// One point of one kernel and what it tests.
struct ProofRow {
  const char* presets; ///< separated by spaces
  const char* kernel;
  const char* point; ///< "name=value name=value", numbers in full
  Scaled size;       ///< becomes the point's size
  double tolerance;  ///< see Proof
  const char* why;
};

[[nodiscard]] std::span<const ProofRow> proof_rows();

} // namespace recount::kernel
