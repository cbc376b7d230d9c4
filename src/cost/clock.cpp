#include "cost/probe.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

namespace recount::cost {
namespace {

std::uint64_t now_ns(void* /*context*/) {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}

// Two loops of 256 instructions per round: of nop, and of dependent divisions or multiplications.
constexpr double instructions_per_round = 256;
#if defined(__aarch64__)
void nop_loop(std::uint64_t rounds) {
  asm volatile("1:\n\t.rept 254\n\tnop\n\t.endr\n\tsubs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
}
void dependent_loop(std::uint64_t rounds) {
  std::uint64_t value = ~std::uint64_t{0};
  asm volatile("1:\n\t.rept 254\n\tudiv %1, %1, %2\n\t.endr\n\tsubs %0, %0, #1\n\tb.ne 1b"
               : "+r"(rounds), "+r"(value)
               : "r"(std::uint64_t{1})
               : "cc");
}
constexpr bool known = true;
#elif defined(__x86_64__)
void nop_loop(std::uint64_t rounds) {
  asm volatile("1:\n\t.rept 254\n\tnop\n\t.endr\n\tdec %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
}
void dependent_loop(std::uint64_t rounds) {
  std::uint64_t value = ~std::uint64_t{0};
  asm volatile("1:\n\t.rept 254\n\timul %1, %1\n\t.endr\n\tdec %0\n\tjnz 1b"
               : "+r"(rounds), "+r"(value)
               :
               : "cc");
}
constexpr bool known = true;
#else
void nop_loop(std::uint64_t) {}
void dependent_loop(std::uint64_t) {}
constexpr bool known = false;
#endif

/// Nanoseconds per instruction: the minimum over rounds, since interrupts only add time.
double nanoseconds_each(void (*loop)(std::uint64_t)) {
  constexpr std::uint64_t rounds = 400;
  auto once = std::numeric_limits<std::uint64_t>::max(), twice = once;
  loop(1);
  for (int i = 0; i < 7; ++i) {
    const std::uint64_t before = now_ns(nullptr);
    loop(rounds);
    const std::uint64_t between = now_ns(nullptr);
    loop(2 * rounds);
    const std::uint64_t after = now_ns(nullptr);
    once = std::min(once, between - before);
    twice = std::min(twice, after - between);
  }
  // The difference excludes the cost of reading the clock.
  return (static_cast<double>(twice) - static_cast<double>(once)) /
         (static_cast<double>(rounds) * instructions_per_round);
}

} // namespace

Probe clock_probe() noexcept {
  return {now_ns, nullptr};
}

std::optional<double> clock_counts_instructions() {
  if (!known) return {};
  const double a = nanoseconds_each(nop_loop), b = nanoseconds_each(dependent_loop);
  if (a <= 0 || b <= 0 || std::abs(a - b) > 0.002 * std::min(a, b)) return {};
  return a;
}

} // namespace recount::cost
