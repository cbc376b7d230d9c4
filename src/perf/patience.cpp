#include "perf/patience.hpp"

#include "base/text.hpp"
#include "event/hybrid.hpp"
#include "event/sysfs.hpp"

#include <algorithm>

namespace recount::perf {
namespace {

std::chrono::milliseconds rotation(const Event& event) {
  constexpr long long usual = 4; // PERF_CPU_HRTIMER of kernel/events/core.c
  const host::Pmu* const core = event::core_of(event.attr, event::pmus());
  long long longest = usual;
  for (const host::Pmu& pmu : event::pmus()) {
    const bool its = core != nullptr ? &pmu == core : pmu.core() || pmu.type == event.attr.type;
    if (its)
      longest = std::max(longest, base::read_number("/sys/bus/event_source/devices/" + pmu.name +
                                                    "/perf_event_mux_interval_ms")
                                      .value_or(usual));
  }
  return std::chrono::milliseconds(longest);
}

} // namespace

Patience::Patience(const Event& event, std::uint64_t enabled_ns)
    : limit_(5 * rotation(event)), from_(enabled_ns), since_(std::chrono::steady_clock::now()) {}

bool Patience::ended(std::uint64_t enabled_ns) const {
  const std::chrono::nanoseconds enabled(enabled_ns - from_);
  if (enabled.count() > 0) return enabled >= limit_;
  return std::chrono::steady_clock::now() - since_ > limit_;
}

} // namespace recount::perf
