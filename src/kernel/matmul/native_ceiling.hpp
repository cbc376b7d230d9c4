// Measured functions for the ceilings of a roofline: peak throughput and bandwidth.
#pragma once

#include "kernel/feature.hpp"

#include <cstdint>

namespace recount::kernel::native {

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
