// Extensions of instruction sets that some blocks take.
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

/// Why this processor cannot execute code that takes the feature; empty when it can. Thread-safe.
[[nodiscard]] std::string missing(Feature feature);

} // namespace recount::kernel
