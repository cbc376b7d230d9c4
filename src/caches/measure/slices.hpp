// Short stretches of following pointers, timed, with the clock rate of the core beside them.
#pragma once

#include <cstdint>

namespace recount::study {

struct Slices {
  double ns = 0; ///< of the shortest slice
  /// Seconds of a chain of some thousand dependent multiplications, before, between and after the slices, the
  /// least: no memory takes part, so it tells the clock rate of the core.
  double reference = 0;
};

/// Follows `steps` pointers and returns nanoseconds, the stopwatch's own taken off; `at` moves on.
[[nodiscard]] double follow(void*& at, std::int64_t steps);

/// `slices` times as many. Where the chains beside them differ, something else than the clock rate made them
/// longer (an interrupt, a thief of the CPU), and slices may have been spared; it then tries again, `tries`
/// times at most, and returns what was disturbed least.
[[nodiscard]] Slices follow_in_slices(void*& at, std::int64_t steps, int slices, int tries);

} // namespace recount::study
