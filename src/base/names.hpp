// What the name of a metric states.
#pragma once

#include <string_view>

namespace recount {

inline constexpr std::string_view preset_prefix = "PAPI_";

/// Whether a metric is a preset of PAPI: "PAPI_L1_DCM".
[[nodiscard]] constexpr bool is_preset(std::string_view metric) {
  return metric.starts_with(preset_prefix);
}

/// Whether a metric is a time, measured by the clock; every other name may be a counter.
[[nodiscard]] constexpr bool is_time(std::string_view metric) {
  return metric == "seconds" || metric == "tsc_cycles";
}

} // namespace recount
