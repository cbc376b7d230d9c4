#include "kernel/loops/stride_loop.hpp"
#include "kernel/native.hpp"

namespace recount::kernel::native {

namespace {

struct Bytes {
  std::uint8_t* x;
  void increment(std::int64_t i) const { ++x[i]; }
};

} // namespace

extern "C" void recount_kernel_stride(void* context) {
  const Stride at = *static_cast<const Stride*>(context);
  stride_loop(Bytes{at.x}, at.size, at.stride, at.passes);
}

} // namespace recount::kernel::native
