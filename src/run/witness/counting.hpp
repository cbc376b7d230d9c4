// Shared by the two counting witnesses, perf and papi.
#pragma once

#include "base/names.hpp"
#include "run/witness/metric_events.hpp"

#include <recount/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace recount::witness {

/// Every name except those of the clock may be a counter.
[[nodiscard]] inline bool is_counter(const std::string& metric) {
  return !is_time(metric);
}

/// The name to count a metric by. Both witnesses count user mode, as PAPI does by default; but Linux switches
/// and moves tasks in kernel mode only, where a user-mode count is always 0: these are counted there.
[[nodiscard]] inline std::string counted_as(const std::string& metric) {
  for (const std::string_view name :
       {"CONTEXT-SWITCHES", "CPU-MIGRATIONS", "CGROUP-SWITCHES", "context-switches", "cpu-migrations"})
    if (metric.ends_with(name)) return metric + ":k";
  return metric;
}

/// Reasons for a missing value, or for a different value of PAPI.
inline constexpr const char* papi_crashes = "counting it crashes the process";
inline constexpr const char* row_without_value = "the preset formula cannot be evaluated";

/// Why PAPI cannot count these together, in user mode; empty: it can.
[[nodiscard]] Reason papi_refusal(const std::vector<std::string>& names);
/// The same of one metric, a time too.
[[nodiscard]] Reason papi_refusal(const std::string& metric);

/// What each interface can count, metric by metric, and reasons for the rest. The events are those of perf.
struct Countable {
  std::vector<MetricEvents> perf, papi;
};
[[nodiscard]] Countable resolve_metrics(const std::vector<std::string>& metrics);

// Whether a metric name exists on any machine.

/// Throws Error (bad_input) with the nearest names for a metric that is no preset (of PAPI's own, of the
/// tables that PAPI reads here, or of the user's events), no event of libpfm4 or sysfs, none of the model's
/// and no time. Accepts metrics that this machine cannot count. `also`: further names accepted by the caller.
void require_known(const std::string& metric, const std::vector<std::string>& also = {});

} // namespace recount::witness
