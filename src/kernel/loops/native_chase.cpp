#include "kernel/loops/cycle.hpp"
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

} // namespace recount::kernel::native
