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

/// Index of an event counter, or 31 for the cycle counter (none is greater), to which the kernel gives the
/// page index 32 (drivers/perf/arm_pmuv3.c). Register names are part of the instruction: the n-th group of
/// four is jumped to. Each begins with a landing pad for indirect branches, "bti j" by its number as a hint,
/// which older assemblers and CPUs know as nop.
inline std::uint64_t cpu_counter(std::uint32_t index) noexcept {
  std::uint64_t value = 0;
  // clang-format off
  asm volatile("adr %0, 1f\n\t"
               "add %0, %0, %w1, uxtw #4\n\t"
               "br %0\n"
               "1:\n\t"
               ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30\n\t"
               "hint #36\n\t"
               "mrs %0, pmevcntr\\n\\()_el0\n\t"
               "b 2f\n\t"
               "nop\n\t"
               ".endr\n\t"
               "hint #36\n\t"
               "mrs %0, pmccntr_el0\n"
               "2:"
               : "=&r"(value)
               : "r"(index));
  // clang-format on
  return value;
}

inline std::uint64_t cpu_clock() noexcept {
  std::uint64_t value = 0;
  asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value));
  return value;
}

#endif

} // namespace recount::perf
