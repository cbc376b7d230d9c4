#include "kernel/matmul/native_matmul.hpp"
#include "kernel/native.hpp"

#include <cstring>

namespace recount::kernel::native {

namespace {

struct Pointers {
  static void* follow(const void* p) {
    void* next;
    std::memcpy(&next, p, sizeof next); // at strides that are no multiple of 8 the pointers are not aligned
    return next;
  }
};

} // namespace

extern "C" void recount_kernel_chase(void* context) {
  auto* const at = static_cast<Chase*>(context);
  at->end = chase_loop(Pointers{}, at->start, at->steps);
}

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

void recount_kernel_peak_scalar(void* context) {
  auto& at = *static_cast<Ceiling*>(context);
  double sum[peak_chains];
  for (int i = 0; i < peak_chains; ++i)
    sum[i] = at.results[i];
  const double factor = at.factor, term = at.term;
  for (std::int64_t turn = 0; turn < at.turns; ++turn)
#pragma GCC unroll 12
    for (int i = 0; i < peak_chains; ++i)
      sum[i] = sum[i] * factor + term;
  for (int i = 0; i < peak_chains; ++i)
    at.results[i] = sum[i];
}

} // namespace recount::kernel::native
