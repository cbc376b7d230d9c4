// Instruction-set extensions required by some blocks.
#pragma once

#include <string>

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

} // namespace recount::kernel
