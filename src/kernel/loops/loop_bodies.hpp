// Random orders that lead through all elements and back to the first.
#pragma once

#include <cstdint>
#include <vector>

namespace recount::kernel {

/// Follows `steps` pointers from `p`; each load's address is the value of the one before.
template <class Memory, class Pointer>
inline Pointer chase_loop(Memory memory, Pointer p, std::int64_t steps) {
  for (; steps > 0; --steps)
    p = memory.follow(p);
  return p;
}

/// next[i]: the element visited after i. One cycle through all n (Sattolo's shuffle), drawn from `seed`.
[[nodiscard]] std::vector<std::uint64_t> random_cycle(std::int64_t n, std::int64_t seed);

// The loop of `stride`, for any memory it may run over.

/// Adds 1 to x[0], x[stride], x[2 stride] ... below size - stride + 1, `passes` times.
/// `memory.increment(i)` is one load and one store of the byte x[i].
template <class Memory>
inline void stride_loop(Memory memory, std::int64_t size, std::int64_t stride, std::int64_t passes) {
  for (std::int64_t pass = 0; pass < passes; ++pass)
    for (std::int64_t i = 0; i < size - stride + 1; i += stride)
      memory.increment(i);
}

} // namespace recount::kernel
