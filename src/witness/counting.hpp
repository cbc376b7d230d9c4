// Shared by the two counting witnesses, perf and papi.
#pragma once

#include <recount/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace recount::witness {

/// Every name except those of the clock may be a counter.
[[nodiscard]] inline bool counter_name(const std::string& metric) {
  return metric != "seconds" && metric != "tsc_cycles";
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
struct Refusal {
  std::string reason;
  bool crashed = false;
};
[[nodiscard]] Refusal papi_refusal(const std::vector<std::string>& names);

/// An error as the reason of a missing value: cause, setting and remedy on one line.
[[nodiscard]] inline std::string reason_of(const Error& error) {
  const Problem& p = error.problem();
  std::string text = p.cause;
  if (!p.setting.empty()) text += "; " + p.setting;
  if (!p.remedy.empty()) text += "; " + p.remedy;
  return text;
}

// Whether a metric name exists on any machine.

/// Throws Error (bad_input) with the nearest names for a metric that is no preset (of PAPI's own, of the
/// tables that PAPI reads here, or of the user's events), no event of libpfm4 or sysfs, none of the model's
/// and no time. Accepts metrics that this machine cannot count. `also`: further names accepted by the caller.
void require_known(const std::string& metric, const std::vector<std::string>& also = {});

} // namespace recount::witness
