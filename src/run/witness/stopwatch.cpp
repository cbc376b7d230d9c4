#include "run/witness/stopwatch.hpp"

#include "base/clock.hpp"
#include "base/host/disturbance.hpp"
#include "base/names.hpp"
#include "run/witness/backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sys/resource.h>
#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

namespace recount::witness {
namespace {

std::int64_t in_ns(const timeval& t) noexcept {
  return t.tv_sec * 1'000'000'000LL + t.tv_usec * 1'000LL;
}

std::int64_t cpu_ns() noexcept {
  rusage children{};
  ::getrusage(RUSAGE_CHILDREN, &children);
  return base::clock_ns(CLOCK_THREAD_CPUTIME_ID) + in_ns(children.ru_utime) + in_ns(children.ru_stime);
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
  const std::int64_t t0 = base::clock_ns(CLOCK_MONOTONIC_RAW);
  const std::int64_t c0 = tsc();
  region();
  const std::int64_t c1 = tsc();
  const std::int64_t t1 = base::clock_ns(CLOCK_MONOTONIC_RAW);
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

// The clock: wall time and time-stamp counter around the region, minus the overhead of reading them.
namespace {

bool provides(const std::string& metric) {
  return is_time(metric);
}

Reason clock_missing(const std::vector<std::string>& metrics) {
  if (std::ranges::any_of(metrics, is_time)) return {};
  return "the clock measures only seconds and tsc_cycles";
}

void fill(result::Observation& o, const Lapse& lapse, const Lapse& cost) {
  const auto ns = without(lapse.ns, cost.ns), ticks = without(lapse.ticks, cost.ticks);
  const char* too_short = "the region took no longer than a read of the clock ({} {})";
  if (ns) o.seconds = static_cast<double>(*ns) / 1e9;
  if (is_seconds(o.metric)) {
    if (o.seconds)
      o.value = *o.seconds;
    else
      o.reason = fmt::format(fmt::runtime(too_short), cost.ns, "ns");
    o.seconds.reset(); // it is the value
  } else if (!is_tsc_cycles(o.metric)) {
    o.reason = "the clock measures only seconds and tsc_cycles";
  } else if (!has_tsc()) {
    o.reason = "this architecture has no time-stamp counter that user code may read";
  } else if (ticks) {
    o.value = *ticks;
  } else {
    o.reason = fmt::format(fmt::runtime(too_short), cost.ticks, "cycles");
  }
}

/// The time that a command prints takes precedence: the time of the whole run includes its start.
void prefer(result::Observation& o, double own) {
  if (is_seconds(o.metric)) {
    if (const auto whole = result::as_double(o.value)) o.seconds = *whole;
    o.cpu_seconds.reset(); // of the whole run
    o.value = own;
    o.reason.clear();
  } else if (is_tsc_cycles(o.metric)) {
    o.value = std::monostate();
    o.reason = "the command reports its own time in seconds; cycles were counted for its whole run";
  }
}

std::vector<result::Observation> observe_clock(const kernel::Kernel&, kernel::Instance* instance,
                                               const Task& task) {
  const Lapse cost = own_cost();
  const Watched watched = watched_lapse(instance->region());
  const auto own = instance->own_seconds();
  std::vector<result::Observation> all;
  for (const auto& metric : task.metrics) {
    auto& o = all.emplace_back(blank_observation(task, metric));
    o.accesses = instance->accesses();
    fill(o, watched.lapse, cost);
    if (is_seconds(o.metric) && o.value.index() != 0)
      o.cpu_seconds = static_cast<double>(watched.cpu_ns) / 1e9;
    if (own) prefer(o, *own);
    o.flags = watched.flags;
  }
  return all;
}

} // namespace

Backend clock_witness() {
  if (!has_tsc())
    return {Witness::clock, "wall time", true, {"seconds"}, provides, clock_missing, observe_clock};
  return {Witness::clock, "wall time and time-stamp counter",
          true,           {"seconds", "tsc_cycles"},
          provides,       clock_missing,
          observe_clock};
}

} // namespace recount::witness
