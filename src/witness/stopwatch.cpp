#include "witness/stopwatch.hpp"
#include "host/disturbance.hpp"

#include <algorithm>
#include <sys/resource.h>
#include <time.h>
#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

namespace recount::witness {
namespace {

std::int64_t now_ns() noexcept {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

std::int64_t in_ns(const timeval& t) noexcept {
  return t.tv_sec * 1'000'000'000LL + t.tv_usec * 1'000LL;
}

std::int64_t cpu_ns() noexcept {
  timespec own{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
  rusage children{};
  ::getrusage(RUSAGE_CHILDREN, &children);
  return own.tv_sec * 1'000'000'000LL + own.tv_nsec + in_ns(children.ru_utime) + in_ns(children.ru_stime);
}

/// The fences order the instructions of the region and the readings.
std::int64_t tsc() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  _mm_lfence();
  const auto ticks = static_cast<std::int64_t>(__rdtsc());
  _mm_lfence();
  return ticks;
#else
  return 0;
#endif
}

[[gnu::noinline]] void nothing(void* /*context*/) {
  asm volatile("" ::: "memory");
}

} // namespace

bool has_tsc() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  return true;
#else
  return false;
#endif
}

Lapse lapse(const kernel::Region& region) {
  const std::int64_t t0 = now_ns();
  const std::int64_t c0 = tsc();
  region();
  const std::int64_t c1 = tsc();
  const std::int64_t t1 = now_ns();
  return {t1 - t0, c1 - c0};
}

Watched watched_lapse(const kernel::Region& region) {
  static_cast<void>(host::disturbance()); // the first call determines the available sources
  const auto before = host::disturbance();
  const std::int64_t cpu = cpu_ns();
  const Lapse it = lapse(region);
  const std::int64_t used = cpu_ns() - cpu;
  return {it, used, host::flags(before, host::disturbance())};
}

Lapse own_cost() {
  const kernel::Region empty{nothing, nullptr};
  Lapse least = lapse(empty);
  for (int i = 0; i < 100; ++i) {
    const Lapse once = lapse(empty);
    least.ns = std::min(least.ns, once.ns);
    least.ticks = std::min(least.ticks, once.ticks);
  }
  return least;
}

std::optional<std::int64_t> without(std::int64_t lapse, std::int64_t cost) noexcept {
  if (lapse <= cost) return std::nullopt;
  return lapse - cost;
}

} // namespace recount::witness
