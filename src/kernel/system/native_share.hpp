// Two threads and one line of memory.
#pragma once

#include <cstdint>

namespace recount::kernel::native {

struct Share {
  volatile std::int64_t* turn = nullptr; ///< odd: the helper's turn; only the one whose turn it is writes
  volatile int* awake = nullptr;         ///< the helper runs while it is 1
  std::int64_t rounds = 0;
};

/// Executes the given number of rounds: writes the line, and waits until the helper has written it.
extern "C" void recount_kernel_share(void* context);
/// The helper's side: writes the line if it is its turn.
extern "C" void recount_kernel_share_back(void* context);

} // namespace recount::kernel::native
