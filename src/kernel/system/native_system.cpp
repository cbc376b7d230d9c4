#include "kernel/system/native_system.hpp"

#include "kernel/system/native_syscall.hpp"

#include <ctime>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace recount::kernel::native {

namespace {

long address(const volatile void* pointer) {
  return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}

} // namespace

extern "C" void recount_kernel_faults(void* context) {
  const Faults at = *static_cast<const Faults*>(context);
  system_call(SYS_madvise, address(at.first), at.pages * at.page, MADV_DONTNEED);
  for (std::int64_t i = 0; i < at.pages; ++i)
    at.first[i * at.page] = 1;
}

extern "C" void recount_kernel_switches(void* context) {
  const timespec moment{0, 50'000};
  for (std::int64_t i = static_cast<const Switches*>(context)->sleeps; i > 0; --i)
    system_call(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, address(&moment));
}

extern "C" void recount_kernel_ticks(void* context) {
#if defined(__x86_64__)
  const auto ticks = static_cast<unsigned long long>(static_cast<const Ticks*>(context)->ticks);
  const unsigned long long begin = __builtin_ia32_rdtsc();
  while (__builtin_ia32_rdtsc() - begin < ticks) {
  }
#else
  static_cast<void>(context);
#endif
}

extern "C" void recount_kernel_migrations(void* context) {
  auto& at = *static_cast<Migrations*>(context);
  for (std::int64_t i = at.moves; i > 0; --i) {
    at.at = 1 - at.at;
    system_call(SYS_sched_setaffinity, 0, static_cast<long>(at.bytes), address(at.masks[at.at]));
  }
}

extern "C" void recount_kernel_interrupts(void* context) {
  const Interrupts at = *static_cast<const Interrupts*>(context);
  itimerspec every{{0, 200'000}, {0, 200'000}};
  const std::int64_t until = *at.seen + at.signals;
  system_call(SYS_timer_settime, at.timer, 0, address(&every));
  while (*at.seen < until) {
  }
  every = {};
  system_call(SYS_timer_settime, at.timer, 0, address(&every));
}

extern "C" void recount_kernel_shootdowns(void* context) {
  const Shootdowns at = *static_cast<const Shootdowns*>(context);
  *at.awake = 1;
  while (*at.busy == 0) {
  }
  for (std::int64_t i = at.rounds; i > 0; --i) {
    *at.page = 1;
    system_call(SYS_mprotect, address(at.page), at.bytes, PROT_READ);
    system_call(SYS_mprotect, address(at.page), at.bytes, PROT_READ | PROT_WRITE);
  }
  *at.awake = 0;
}

} // namespace recount::kernel::native
