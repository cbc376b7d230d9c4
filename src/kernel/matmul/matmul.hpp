// The kernel matmul: a checked point, its matrices and its loop nest.
#pragma once

#include "kernel/kernel.hpp"
#include "kernel/matmul/matmul_loops.hpp"
#include "kernel/point.hpp"
#include "model/nest.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace recount::kernel {

/// The loops and accesses at a point.
[[nodiscard]] model::Nest matmul_nest(const Params& point,
                                      const std::optional<model::Placement>& placement = {});

struct MatmulPoint {
  enum class Variant { ijk, ijk_mem, ikj, transposed, blocked };
  Variant variant = Variant::ijk;
  std::int64_t element = 8; ///< bytes
  std::int64_t n = 0, block = 0, offset = 0;
  bool transposes = true; ///< whether the transposition is part of the region
  Memory::Pages pages = Memory::Pages::small;

  /// a, b, c and, for transposed, t.
  [[nodiscard]] std::int64_t matrices() const { return variant == Variant::transposed ? 4 : 3; }
  /// Bytes from the first element of a matrix to that of the next: whole pages, because malloc(3) maps each
  /// large block separately.
  [[nodiscard]] std::int64_t pitch() const;
  /// From the first element of a to the end of the last matrix.
  [[nodiscard]] std::int64_t bytes() const;
  /// Loads and stores of the region.
  [[nodiscard]] std::int64_t accesses() const;
};

[[nodiscard]] std::vector<Parameter> matmul_parameters();

/// Completes and checks a point. Throws recount::Error (bad_input).
[[nodiscard]] MatmulPoint matmul_point(const Kernel& kernel, const Params& given);

/// Executes the region of `at` over any memory.
template <class Memory>
void matmul_run(const MatmulPoint& at, Memory memory) {
  using Variant = MatmulPoint::Variant;
  switch (at.variant) {
  case Variant::ijk: return matmul_ijk(memory, at.n);
  case Variant::ijk_mem: return matmul_ijk_mem(memory, at.n);
  case Variant::ikj: return matmul_ikj(memory, at.n);
  case Variant::transposed:
    if (at.transposes) matmul_transpose(memory, at.n);
    return matmul_by_transposed(memory, at.n);
  case Variant::blocked: return matmul_blocked(memory, at.n, at.block);
  }
}

// Kernels built for one type of processor.

/// The instructions that the vectorised kernels were built with: "AVX-512".
[[nodiscard]] std::string vectorised_for();
/// Why this processor cannot execute them; empty: it can.
[[nodiscard]] std::string vectors_missing();
/// Throws recount::Error (unavailable) where this processor lacks them.
void need_vectors(const std::string& kernel);

/// Why `dgemm` is unavailable; empty: available. Loads the library: call it in a process that may keep it
/// loaded.
[[nodiscard]] std::string dgemm_missing();

} // namespace recount::kernel
