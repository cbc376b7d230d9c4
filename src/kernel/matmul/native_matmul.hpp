// The measured functions of `matmul`.
#pragma once

#include "kernel/native.hpp"

#include <cstdint>

namespace recount::kernel::native {

/// Matrices of n x n elements by rows; `t` only for the transposed variants, `block` only for blocked.
struct Matmul {
  void *a = nullptr, *b = nullptr, *c = nullptr, *t = nullptr;
  std::int64_t n = 0, block = 0;
};

/// C names, so that a disassembler finds them; the argument is the structure above. f64: double. i16: 16-bit
/// integers, products and sums modulo 65536.
extern "C" void recount_kernel_matmul_ijk_f64(void* context);
extern "C" void recount_kernel_matmul_ijk_i16(void* context);
extern "C" void recount_kernel_matmul_ijk_mem_f64(void* context);
extern "C" void recount_kernel_matmul_ijk_mem_i16(void* context);
extern "C" void recount_kernel_matmul_ikj_f64(void* context);
extern "C" void recount_kernel_matmul_ikj_i16(void* context);
extern "C" void recount_kernel_matmul_transpose_f64(void* context);
extern "C" void recount_kernel_matmul_transpose_i16(void* context);
extern "C" void recount_kernel_matmul_by_transposed_f64(void* context);
extern "C" void recount_kernel_matmul_by_transposed_i16(void* context);
extern "C" void recount_kernel_matmul_transposed_f64(void* context); ///< transpose, then by_transposed
extern "C" void recount_kernel_matmul_transposed_i16(void* context);
extern "C" void recount_kernel_matmul_blocked_f64(void* context);
extern "C" void recount_kernel_matmul_blocked_i16(void* context);

/// The loops of one build by element; the same functions as above for the plain one.
struct MatmulLoops {
  using Code = void (*)(void* context);
  Code ijk, ijk_mem, ikj, transpose, by_transposed, transposed, blocked;
};
[[nodiscard]] const MatmulLoops& plain_matmul(bool doubles);
/// The same source at -O3 -march=native: the compiler may use vectors, keep sums in registers and change the
/// order of loops, as far as results stay. Crashes on a processor that lacks what it was built for: see
/// vectorised().
[[nodiscard]] const MatmulLoops& vectorised_matmul(bool doubles);

// Measured functions for the ceilings of a roofline: peak throughput and bandwidth.

/// Enough to hide the latency of an operation on known processors, and few enough for their registers.
inline constexpr int peak_chains = 12;

struct Ceiling {
  std::int64_t turns = 1;
  const void* data = nullptr; ///< aligned to 64 bytes
  std::int64_t bytes = 0;     ///< of the data, a multiple of 1024
  double factor = 0.5, term = 0.5;
  /// Written at the end, so that nothing is optimised away.
  alignas(64) double results[peak_chains * 8]{};
};

/// 12 independent chains of x = x * factor + term, one step of each per turn: in the widest vectors of
/// doubles that the build has, fused where it can.
extern "C" void recount_kernel_peak_vector(void* context);
/// The same in scalar operations, multiplication and addition apart, as the plain build has them.
extern "C" void recount_kernel_peak_scalar(void* context);

/// Reads all data once per turn, in the same vectors.
extern "C" void recount_kernel_bandwidth(void* context);

/// For which processor the vectorised functions were built.
struct Vectorised {
  const char* instructions; ///< "AVX-512"
  Feature needs;            ///< without which they crash
  int doubles;              ///< in a vector
};
[[nodiscard]] const Vectorised& vectorised() noexcept;

} // namespace recount::kernel::native
