// The loop of `stride`, for any memory it may run over.
#pragma once

#include <cstdint>

namespace recount::kernel {

/// Adds 1 to x[0], x[stride], x[2 stride] ... below size - stride + 1, `passes` times.
/// `memory.increment(i)` is one load and one store of the byte x[i].
template <class Memory>
inline void stride_loop(Memory memory, std::int64_t size, std::int64_t stride, std::int64_t passes) {
  for (std::int64_t pass = 0; pass < passes; ++pass)
    for (std::int64_t i = 0; i < size - stride + 1; i += stride)
      memory.increment(i);
}

} // namespace recount::kernel
