// What `recount stat` prints: tables for people, one JSON object.
#pragma once

#include "base/json.hpp"
#include "command/output.hpp"
#include "stat/stat_run.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace recount::stat {

/// The metrics as --export writes them.
[[nodiscard]] command::Table metrics_list(const metric::Metrics& metrics);
/// All metrics, with units and formulas.
[[nodiscard]] std::string metrics_table(const metric::Metrics& metrics);
[[nodiscard]] std::string metrics_json(const metric::Metrics& metrics);

/// One interval: one line per row. `head`: with column headings.
[[nodiscard]] std::string interval_lines(const stat::Plan& plan, const stat::Slice& slice, bool head);

/// One row per value.
[[nodiscard]] command::Table values_table(const stat::Plan& plan, const stat::RunResult& ended);
/// The summary. `what` names the command or the processes; coloured if `stream` is a terminal.
[[nodiscard]] std::string stat_table(const stat::Plan& plan, const stat::RunResult& ended,
                                     const std::string& what, std::FILE* stream);
/// How many runs of a command completed.
[[nodiscard]] Json runs_json(const stat::RunResult& ended);
[[nodiscard]] std::string stat_json(const stat::Plan& plan, const stat::Request& request,
                                    const stat::RunResult& ended, const std::vector<stat::Slice>& intervals);

} // namespace recount::stat
