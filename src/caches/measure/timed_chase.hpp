// Timed pointer chases in brief slices, with the core clock rate.
#pragma once

#include <cstdint>

namespace recount::caches {

struct TimedChase {
  double ns = 0; ///< of the shortest slice
  /// Seconds of a chain of some thousand dependent multiplications, before, between and after the slices, the
  /// least: it accesses no memory, so it measures the core clock rate.
  double reference = 0;
};

/// Follows `steps` pointers and returns nanoseconds without the overhead of the clock; `at` advances.
[[nodiscard]] double follow(void*& at, std::int64_t steps);

/// Times `slices` slices of `steps` pointers. If the reference chains differ, an interrupt or another user of
/// the CPU disturbed them; it repeats at most `tries` times and returns the least disturbed attempt.
[[nodiscard]] TimedChase timed_chase(void*& at, std::int64_t steps, int slices, int tries);

} // namespace recount::caches
