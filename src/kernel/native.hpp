// The measured functions. They are compiled into a library of their own with fixed flags, whatever the build.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace recount::kernel {

enum class Feature {
  none,
  fma,         ///< x86-64: fused multiply-add of up to 256 bits
  avx,         ///< 256-bit vectors
  avx512f,     ///< 512-bit vectors
  avx512vl,    ///< and their instructions on shorter ones
  avx512_fp16, ///< half precision
  fp16         ///< aarch64: half-precision arithmetic (FEAT_FP16)
};

/// Why this processor cannot execute code with the feature; empty if it can. Thread-safe.
[[nodiscard]] std::string missing(Feature feature);

// The loops of kernels, for any memory that they may run over.

/// Follows `steps` pointers from `p`; each load's address is the value of the one before.
template <class Memory, class Pointer>
inline Pointer chase_loop(Memory memory, Pointer p, std::int64_t steps) {
  for (; steps > 0; --steps)
    p = memory.follow(p);
  return p;
}

/// next[i]: the element visited after i. One cycle through all n (Sattolo's shuffle), drawn from `seed`.
[[nodiscard]] std::vector<std::uint64_t> random_cycle(std::int64_t n, std::int64_t seed);

/// Adds 1 to x[0], x[stride], x[2 stride] ... below size - stride + 1, `passes` times.
/// `memory.increment(i)` is one load and one store of the byte x[i].
template <class Memory>
inline void stride_loop(Memory memory, std::int64_t size, std::int64_t stride, std::int64_t passes) {
  for (std::int64_t pass = 0; pass < passes; ++pass)
    for (std::int64_t i = 0; i < size - stride + 1; i += stride)
      memory.increment(i);
}

} // namespace recount::kernel

namespace recount::kernel::native {

struct Stride {
  std::uint8_t* x = nullptr;
  std::int64_t size = 0, stride = 0, passes = 0;
};
struct Chase {
  void* start = nullptr;
  std::int64_t steps = 0;
  void* end = nullptr; ///< written: prevents removal of the chain of loads
};

/// C names, so that a disassembler finds them; the argument is the structure above.
extern "C" void recount_kernel_stride(void* context);
extern "C" void recount_kernel_chase(void* context);

} // namespace recount::kernel::native
