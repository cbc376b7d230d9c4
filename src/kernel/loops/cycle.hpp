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

} // namespace recount::kernel
