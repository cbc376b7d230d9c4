// The loop of `chase`, for any memory it may run over.
#pragma once

#include <cstdint>

namespace recount::kernel {

/// Follows `steps` pointers from `p`; each load's address is the value of the one before.
template <class Memory, class Pointer>
inline Pointer chase_loop(Memory memory, Pointer p, std::int64_t steps) {
  for (; steps > 0; --steps)
    p = memory.follow(p);
  return p;
}

} // namespace recount::kernel
