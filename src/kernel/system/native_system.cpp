#include "kernel/system/native_system.hpp"

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <unistd.h>
#endif

#include <sys/mman.h>
#include <sys/syscall.h>

#include <ctime>

// A system call without a library call around it: the kernel's work plus two or three
// instructions.
namespace recount::kernel::native {

/// Up to four arguments; a negative errno on failure, as the kernel returns it.
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
#if defined(__x86_64__)
  long result = number;
  register long fourth asm("r10") = d;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long which asm("x8") = number;
  register long result asm("x0") = a;
  register long second asm("x1") = b, third asm("x2") = c, fourth asm("x3") = d;
  asm volatile("svc 0" : "+r"(result) : "r"(which), "r"(second), "r"(third), "r"(fourth) : "memory");
  return result;
#else
  return ::syscall(number, a, b, c, d);
#endif
}

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

namespace {

// One writer at a time, and the line is the only shared data: plain stores and loads suffice on x86 (TSO),
// elsewhere they need release and acquire.
void put(volatile std::int64_t* turn, std::int64_t value) {
  __atomic_store_n(turn, value, __ATOMIC_RELEASE);
}
std::int64_t look(const volatile std::int64_t* turn) {
  return __atomic_load_n(turn, __ATOMIC_ACQUIRE);
}
/// Pauses so that the other CPU can access the line.
void wait_a_little() {
#ifdef __x86_64__
  asm volatile("pause");
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

} // namespace

extern "C" void recount_kernel_share(void* context) {
  const Share at = *static_cast<const Share*>(context);
  *at.awake = 1;
  for (std::int64_t i = at.rounds; i > 0; --i) {
    const std::int64_t mine = look(at.turn) + 1;
    put(at.turn, mine);
    while (look(at.turn) == mine)
      wait_a_little();
  }
  *at.awake = 0;
}

extern "C" void recount_kernel_share_back(void* context) {
  const Share& at = *static_cast<const Share*>(context);
  if (const std::int64_t seen = look(at.turn); seen % 2 != 0)
    put(at.turn, seen + 1);
  else
    wait_a_little();
}

} // namespace recount::kernel::native
