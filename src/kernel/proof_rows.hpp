// The table of proofs: points of kernels, and the presets that each tests.
#pragma once

#include <span>

namespace recount::kernel {

/// One point of one kernel and what it tests.
struct ProofRow {
  const char* kernel;
  /// "name=value name=value". A value is a number in full, a word, or a size that follows a machine's caches:
  /// "@2" the capacity of its second level of data, "0.5*@2" half of it. A row that names a level does not
  /// count for machines without it.
  const char* point;
  const char* presets; ///< separated by spaces
  double tolerance;    ///< see Proof
  const char* why;
};

[[nodiscard]] std::span<const ProofRow> proof_rows();

/// A preset that no row tests, or only on some architectures, and why.
struct UnprovableRow {
  const char *preset, *reason;
};
[[nodiscard]] std::span<const UnprovableRow> unprovable_rows();

} // namespace recount::kernel
