// The kind of a metric by its name, of a count by its unit.
#pragma once

#include <string_view>

namespace recount {

inline constexpr std::string_view preset_prefix = "PAPI_";

/// Whether a metric is a preset of PAPI: "PAPI_L1_DCM".
[[nodiscard]] constexpr bool is_preset(std::string_view metric) {
  return metric.starts_with(preset_prefix);
}

/// Whether a metric is the time in seconds.
[[nodiscard]] constexpr bool is_seconds(std::string_view metric) {
  return metric == "seconds";
}

/// Whether a metric is the time in cycles of the time-stamp counter.
[[nodiscard]] constexpr bool is_tsc_cycles(std::string_view metric) {
  return metric == "tsc_cycles";
}

/// Whether a metric is a time, measured by the clock; every other name may be a counter.
[[nodiscard]] constexpr bool is_time(std::string_view metric) {
  return is_seconds(metric) || is_tsc_cycles(metric);
}

/// Whether the unit of a count is that of processor time.
[[nodiscard]] constexpr bool is_nanoseconds(std::string_view unit) {
  return unit == "ns";
}

} // namespace recount
