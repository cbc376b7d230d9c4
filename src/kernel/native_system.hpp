// The measured functions that provoke what the operating system does.
#pragma once

#include <cstdint>

namespace recount::kernel::native {

struct Faults {
  volatile std::uint8_t* first = nullptr;
  std::int64_t pages = 0, page = 4096; ///< how many, and bytes of one
};

/// Gives the pages back (one madvise(2)), then writes a byte of each.
extern "C" void recount_kernel_faults(void* context);

} // namespace recount::kernel::native
