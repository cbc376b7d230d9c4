// The measured functions. They are compiled into a library of their own with fixed flags, whatever the build.
#pragma once

#include <cstdint>

namespace recount::kernel::native {

struct Stride {
  std::uint8_t* x = nullptr;
  std::int64_t size = 0, stride = 0, passes = 0;
};
struct Chase {
  void* start = nullptr;
  std::int64_t steps = 0;
  void* end = nullptr; ///< written: prevents removal of the chain of loads
};

/// C names, so that a disassembler finds them; the argument is the structure above.
extern "C" void recount_kernel_stride(void* context);
extern "C" void recount_kernel_chase(void* context);

} // namespace recount::kernel::native
