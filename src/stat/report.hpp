// What `recount stat` prints: tables for people, one object of JSON.
#pragma once

#include "command/output.hpp"
#include "stat/summary.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace recount::cli {

/// The metrics as --export writes them.
[[nodiscard]] Table metrics_list(const metric::Metrics& metrics);
/// The metrics that there are, with units and formulas.
[[nodiscard]] std::string metrics_table(const metric::Metrics& metrics);
[[nodiscard]] std::string metrics_json(const metric::Metrics& metrics);

/// One interval, as it ends: a line for each row. `head`: with the heads of the columns.
[[nodiscard]] std::string interval_lines(const stat::Plan& plan, const stat::Slice& slice, bool head);

/// A row for each value that there is.
[[nodiscard]] Table values_table(const stat::Plan& plan, const stat::Ended& ended);
/// Everything, at the end. `what` names the command or the processes; coloured as `stream` wants it.
[[nodiscard]] std::string stat_table(const stat::Plan& plan, const stat::Ended& ended,
                                     const std::string& what, std::FILE* stream);
[[nodiscard]] std::string stat_json(const stat::Plan& plan, const stat::Request& request,
                                    const stat::Ended& ended, const std::vector<stat::Slice>& intervals);

} // namespace recount::cli
