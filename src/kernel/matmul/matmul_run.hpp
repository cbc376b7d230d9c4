// Which loops a point of `matmul` executes.
#pragma once

#include "kernel/matmul/matmul_loops.hpp"
#include "kernel/matmul/matmul_point.hpp"

namespace recount::kernel {

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

} // namespace recount::kernel
