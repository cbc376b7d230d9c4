#include "kernel/native_system.hpp"

#include "kernel/native_syscall.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>

namespace recount::kernel::native {

extern "C" void recount_kernel_faults(void* context) {
  const Faults at = *static_cast<const Faults*>(context);
  system_call(SYS_madvise, reinterpret_cast<long>(at.first), at.pages * at.page, MADV_DONTNEED);
  for (std::int64_t i = 0; i < at.pages; ++i)
    at.first[i * at.page] = 1;
}

} // namespace recount::kernel::native
