// What may have disturbed a measurement: read before and after, compared afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recount {

struct Flag {
  enum class Kind {
    steal,            ///< time taken by the hypervisor; `share`
    preempted,        ///< by other threads; `share`
    throttled,        ///< by the control group; `share`
    frequency,        ///< changed, by `share`
    thermal,          ///< throttled by heat
    migrated,         ///< to another CPU
    sibling_busy,     ///< the other hardware thread of the core
    sampled,          ///< a simulation of a part of the accesses: `share` of them, `error`
    papi_crashes,     ///< counting it by PAPI ends the process
    unevaluated_row,  ///< the preset's formula has no value here
    other_papi_value, ///< PAPI computes another value from the same counts
    note              ///< anything else; `text`
  };
  Kind kind = Kind::note;
  std::string text;            ///< for people: "preempted 3 times (4.2 %)"
  std::optional<double> share; ///< in per cent
  std::optional<double> error; ///< half-width of the interval of the value, in its unit

  Flag(Kind k, std::string t, std::optional<double> percent = {}, std::optional<double> half_width = {})
      : kind(k), text(std::move(t)), share(percent), error(half_width) {}
  bool operator==(const Flag&) const = default;
};

/// As in results files, in the order of Flag::Kind.
inline constexpr std::array<std::string_view, 12> flag_kinds{
    "steal",        "preempted", "throttled",    "frequency",       "thermal",          "migrated",
    "sibling_busy", "sampled",   "papi_crashes", "unevaluated_row", "other_papi_value", "note"};

[[nodiscard]] constexpr std::string_view name_of(Flag::Kind kind) {
  return flag_kinds[static_cast<std::size_t>(kind)];
}

} // namespace recount

namespace recount::host {

/// Running totals at one moment; no value where this machine does not report it.
struct Disturbance {
  int cpu = -1;                             ///< the CPU that the caller was on
  std::optional<std::int64_t> steal_ns;     ///< time the hypervisor gave this CPU to others (ticks of 10 ms)
  std::optional<std::int64_t> throttled_ns; ///< time the control group was throttled for its quota
  std::optional<std::int64_t> sibling_busy_ns; ///< busy time of the other hardware threads of the core
  std::optional<std::int64_t> thermal_events;  ///< thermal throttlings of the core
  std::optional<std::int64_t> frequency_khz;   ///< current frequency as cpufreq states it
  std::int64_t involuntary_switches = 0;       ///< times the scheduler took the CPU from this thread
  /// Time that this thread was runnable without a CPU: the second field of /proc/thread-self/schedstat.
  std::optional<std::int64_t> waiting_ns;
  std::int64_t monotonic_ns = 0; ///< CLOCK_MONOTONIC_RAW
};
/// Takes the totals for the CPU that the calling thread is on: some tens of microseconds. Thread-safe.
[[nodiscard]] Disturbance disturbance();

/// What happened between the two, with the share of the time that was lost to it where that is known: "steal
/// 20 ms (2.1 %)", "throttled 5 ms (0.5 %)", "preempted 3 times (4.2 %)", "migrated", "sibling busy 40 %",
/// "frequency 3000 to 2400 MHz", "thermal throttling". Pure.
[[nodiscard]] std::vector<Flag> flags(const Disturbance& before, const Disturbance& after);

// What the control group of this process allows, in both versions of the hierarchy (see cgroups(7)).

/// Limits and throttling of this process's control group; no value: no limit, or not readable from here.
struct Cgroup {
  std::optional<std::int64_t> memory_limit;      ///< bytes
  std::optional<std::int64_t> memory_used;       ///< bytes
  std::optional<double> cpus;                    ///< CPU time per time: quota / period
  std::optional<std::int64_t> throttled_periods; ///< since the group began
  std::optional<std::int64_t> throttled_ns;      ///< since the group began
};
/// The tightest limit on the way from the process's group up to the root. `root` and `membership` (the text
/// of /proc/self/cgroup) are for tests.
[[nodiscard]] Cgroup cgroup(const std::string& root, const std::string& membership);
[[nodiscard]] Cgroup cgroup();

/// Bytes of memory that can still be taken without swapping: MemAvailable of /proc/meminfo, or what is left
/// below the control group's limit if that is less.
[[nodiscard]] std::int64_t memory_available();

} // namespace recount::host
