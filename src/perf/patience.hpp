// How long to wait until an event that was enabled is scheduled.
#pragma once

#include <recount/event.hpp>

#include <chrono>
#include <cstdint>

namespace recount::perf {

/// Waits for several turns of the rotation among event groups, whose length the PMU states
/// (perf_event_mux_interval_ms in sysfs). They are measured in time for which the event was enabled, which
/// does not pass while the thread is preempted; where that time does not pass at all, as of a group in error,
/// by the clock.
class Patience {
public:
  /// `enabled_ns`: of the event at the beginning.
  Patience(const Event& event, std::uint64_t enabled_ns);
  /// Whether it has waited long enough, given the enabled time of a read that found the event not scheduled.
  [[nodiscard]] bool ended(std::uint64_t enabled_ns) const;

private:
  std::chrono::nanoseconds limit_;
  std::uint64_t from_;
  std::chrono::steady_clock::time_point since_;
};

} // namespace recount::perf
