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

/// Counts of presets at one point, as multiples of their counts at another one: for presets whose expected
/// counts have wide bounds.
struct RelationRow {
  const char *kernel, *point;           ///< as in ProofRow
  const char *base_kernel, *base_point; ///< the count here is the unit
  const char* presets;                  ///< separated by spaces
  double least, most;                   ///< of the multiple
  const char* why;
};
[[nodiscard]] std::span<const RelationRow> relation_rows();

/// Presets whose expected counts at points of proofs of other presets are not compared with counts.
struct DoubtRow {
  const char* kernel;  ///< empty: any
  const char* choice;  ///< a value of one of its parameters; empty: any
  const char* presets; ///< separated by spaces; after a '-': all but these
  const char* why;
};
[[nodiscard]] std::span<const DoubtRow> doubt_rows();

/// A preset that no row tests, or only on some architectures, and why.
struct UnprovableRow {
  const char *preset, *reason;
};
[[nodiscard]] std::span<const UnprovableRow> unprovable_rows();

} // namespace recount::kernel
