// This CPU's counter registers and the clock that the kernel's page refers to.
#include <recount/user_read.hpp>

#include <array>
#include <utility>

namespace recount {
namespace {

#if defined(__x86_64__)

std::uint64_t counter(void*, std::uint32_t index) {
  std::uint32_t low = 0, high = 0;
  asm volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
  return std::uint64_t{high} << 32 | low;
}

std::uint64_t clock(void*) {
  std::uint32_t low = 0, high = 0;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return std::uint64_t{high} << 32 | low;
}

#elif defined(__aarch64__)

// Register names are part of the instruction, so each counter has a function of its own.
template <unsigned N>
std::uint64_t event_counter() {
  std::uint64_t value = 0;
  asm volatile("mrs %0, pmevcntr%c1_el0" : "=r"(value) : "i"(N));
  return value;
}

std::uint64_t cycle_counter() {
  std::uint64_t value = 0;
  asm volatile("mrs %0, pmccntr_el0" : "=r"(value));
  return value;
}

template <unsigned... N>
constexpr auto table(std::integer_sequence<unsigned, N...>) {
  // The kernel gives the cycle counter the page index 32, which is 31 here (drivers/perf/arm_pmuv3.c).
  return std::array{event_counter<N>..., cycle_counter};
}

std::uint64_t counter(void*, std::uint32_t index) {
  static constexpr auto readers = table(std::make_integer_sequence<unsigned, 31>{});
  return index < readers.size() ? readers[index]() : 0;
}

std::uint64_t clock(void*) {
  std::uint64_t value = 0;
  asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value));
  return value;
}

#else // no register that may be read in user mode is known: the page never says that one may

std::uint64_t counter(void*, std::uint32_t) {
  return 0;
}
std::uint64_t clock(void*) {
  return 0;
}

#endif

} // namespace

Registers cpu_registers() noexcept {
  return {counter, clock, nullptr};
}

} // namespace recount
