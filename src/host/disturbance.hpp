// What may have disturbed a measurement: read before and after, compared afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace recount::host {

/// Running totals at one moment; no value where this machine does not tell.
struct Disturbance {
  int cpu = -1;                             ///< the CPU that the caller was on
  std::optional<std::int64_t> steal_ns;     ///< time the hypervisor gave this CPU to others (ticks of 10 ms)
  std::optional<std::int64_t> throttled_ns; ///< time our control group was held back for its quota
  std::optional<std::int64_t> sibling_busy_ns; ///< busy time of the other hardware threads of the core
  std::optional<std::int64_t> thermal_events;  ///< thermal throttlings of the core
  std::optional<std::int64_t> frequency_khz;   ///< current frequency as cpufreq states it
  std::int64_t involuntary_switches = 0;       ///< times the scheduler took the CPU from this thread
  std::int64_t monotonic_ns = 0;               ///< CLOCK_MONOTONIC_RAW
};
/// Takes the totals for the CPU that the calling thread is on: some tens of microseconds. Thread-safe.
[[nodiscard]] Disturbance disturbance();

/// What happened between the two, as an observation's flags: "steal 20 ms", "throttled 5 ms", "migrated",
/// "sibling busy 40 %", "frequency 3000 to 2400 MHz", "thermal throttling", "preempted 3 times". Pure.
[[nodiscard]] std::vector<std::string> flags(const Disturbance& before, const Disturbance& after);

} // namespace recount::host
