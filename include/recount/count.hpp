// What reading a counter gives, and the arithmetic on it. Pure: no system call.
#pragma once

#include <recount/reason.hpp>
#include <recount/shared.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace recount {

/// One event's count over a region. The times are those of its group (perf_event_open(2), read format).
struct Count {
  std::optional<std::uint64_t> value; ///< occurrences while running, unscaled; none: not counted (never 0)
  std::uint64_t enabled_ns = 0;       ///< nanoseconds between start and stop
  std::uint64_t running_ns = 0;       ///< nanoseconds of these on a counter; less than enabled: multiplexed
  Shared<Reason> reason;              ///< why there is no value; empty when there is one
};

/// Fraction of the enabled time that was counted, 0...1; 1 when nothing was enabled at all.
[[nodiscard]] double share(const Count& count) noexcept;

/// Whether the value covers only part of the time and has to be scaled.
[[nodiscard]] bool multiplexed(const Count& count) noexcept;

/// A count is not scaled to the whole region if its event was scheduled for less than this time, a few turns
/// of the rotation among event groups, and also for less than this share of the region.
inline constexpr std::uint64_t min_scaled_ns = 10'000'000;
inline constexpr double min_scaled_share = 0.01;

/// The estimate for the whole region: value * enabled / running; the value itself when the event always
/// ran; none when it was not counted, or for too short a time (see above).
[[nodiscard]] std::optional<double> scale(const Count& count) noexcept;

/// Why scale() gives none: the reason of the count, or for how long the event was scheduled. Empty: it gives
/// a value.
[[nodiscard]] Reason why_not_scaled(const Count& count);

/// What happened between two reads of one counter, values and times each subtracted, so that scaling uses
/// the times of this region alone. Not counted when either was not, or when the counter did not run in
/// between although it was enabled. A counter that went backwards counts as not counted, with that reason.
[[nodiscard]] Count difference(const Count& after, const Count& before);

/// Adds the count of an event on one more thread or CPU. The sum has a value if any part has one; it begins
/// as Count().
inline void add(Count& sum, const Count& part) {
  if (part.value) {
    sum.value = sum.value.value_or(0) + *part.value;
    sum.reason.clear();
  } else if (!sum.value && sum.reason.empty()) {
    sum.reason = part.reason;
  }
  sum.enabled_ns += part.enabled_ns;
  sum.running_ns += part.running_ns;
}

/// The counts of one event on each core type of a hybrid CPU (encode_each()) as one count. A thread executes
/// on one core type at a time, so the running times add up: scale() of the sum is the estimate for all core
/// types, while scale() of a part would also extrapolate to the time on the others. Parts without a value are
/// left out; the sum then covers less of the time. Not counted, with the first reason, when no part was.
[[nodiscard]] Count sum_of_core_types(std::span<const Count> parts);

} // namespace recount
