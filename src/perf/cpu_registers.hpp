// Inline reads of the counter registers and of the clock used by the kernel's page.
#pragma once

#include <cstdint>

namespace recount::perf {

#if defined(__x86_64__)

/// Index as rdpmc takes it.
inline std::uint64_t cpu_counter(std::uint32_t index) noexcept {
  std::uint32_t low = 0, high = 0;
  asm volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
  return std::uint64_t{high} << 32 | low;
}

inline std::uint64_t cpu_clock() noexcept {
  std::uint32_t low = 0, high = 0;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return std::uint64_t{high} << 32 | low;
}

#elif defined(__aarch64__)

/// Index of an event counter, or 31 for the cycle counter, to which the kernel gives the page index 32
/// (drivers/perf/arm_pmuv3.c). Register names are part of the instruction. The compiler knows how to jump
/// into its own tables where indirect branches need a landing pad (-mbranch-protection=bti).
inline std::uint64_t cpu_counter(std::uint32_t index) noexcept {
  std::uint64_t value = 0;
#define RECOUNT_EVENT_COUNTER(n)                                                                             \
  case n:                                                                                                    \
    asm volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(value));                                                \
    break;
  switch (index & 31U) {
    RECOUNT_EVENT_COUNTER(0)
    RECOUNT_EVENT_COUNTER(1)
    RECOUNT_EVENT_COUNTER(2)
    RECOUNT_EVENT_COUNTER(3)
    RECOUNT_EVENT_COUNTER(4)
    RECOUNT_EVENT_COUNTER(5)
    RECOUNT_EVENT_COUNTER(6)
    RECOUNT_EVENT_COUNTER(7)
    RECOUNT_EVENT_COUNTER(8)
    RECOUNT_EVENT_COUNTER(9)
    RECOUNT_EVENT_COUNTER(10)
    RECOUNT_EVENT_COUNTER(11)
    RECOUNT_EVENT_COUNTER(12)
    RECOUNT_EVENT_COUNTER(13)
    RECOUNT_EVENT_COUNTER(14)
    RECOUNT_EVENT_COUNTER(15)
    RECOUNT_EVENT_COUNTER(16)
    RECOUNT_EVENT_COUNTER(17)
    RECOUNT_EVENT_COUNTER(18)
    RECOUNT_EVENT_COUNTER(19)
    RECOUNT_EVENT_COUNTER(20)
    RECOUNT_EVENT_COUNTER(21)
    RECOUNT_EVENT_COUNTER(22)
    RECOUNT_EVENT_COUNTER(23)
    RECOUNT_EVENT_COUNTER(24)
    RECOUNT_EVENT_COUNTER(25)
    RECOUNT_EVENT_COUNTER(26)
    RECOUNT_EVENT_COUNTER(27)
    RECOUNT_EVENT_COUNTER(28)
    RECOUNT_EVENT_COUNTER(29)
    RECOUNT_EVENT_COUNTER(30)
  default: asm volatile("mrs %0, pmccntr_el0" : "=r"(value)); break;
  }
#undef RECOUNT_EVENT_COUNTER
  return value;
}

inline std::uint64_t cpu_clock() noexcept {
  std::uint64_t value = 0;
  asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value));
  return value;
}

#else // no user-readable register known: the page never reports one

inline std::uint64_t cpu_counter(std::uint32_t) noexcept {
  return 0;
}
inline std::uint64_t cpu_clock() noexcept {
  return 0;
}

#endif

} // namespace recount::perf
