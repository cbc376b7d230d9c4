// What `recount stat` prints: tables for people, one JSON object.
#pragma once

#include "base/json.hpp"
#include "run/stat_run.hpp"
#include "show/command/output.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace recount::stat {

/// The metrics as --export writes them.
[[nodiscard]] show::Table metrics_list(const metric::Metrics& metrics);
/// All metrics, with units and formulas.
[[nodiscard]] std::string metrics_table(const metric::Metrics& metrics);
[[nodiscard]] std::string metrics_json(const metric::Metrics& metrics);

/// The displayed unit of a value and its divisor: milliseconds for nanoseconds, KiB or MiB for bytes.
struct ShownUnit {
  std::string name;
  double size = 1;
};
[[nodiscard]] ShownUnit shown_unit(const std::string& unit, double value);

/// Whether the row is a metric that is shown beside the event before it.
[[nodiscard]] bool is_beside(const Plan& plan, std::size_t row);

/// "not counted: NAMES: WHY" below a table, with narrow names on narrow terminals.
[[nodiscard]] std::string not_counted_line(const std::vector<std::string>& names, const std::string& why,
                                           std::FILE* stream);

/// A note below a table: indented, wrapped to the width of the stream.
[[nodiscard]] std::string note_line(const std::string& text, std::FILE* stream);

/// What the last run that failed wrote to stderr, where that was not shown. `whose`: "2: ", of a command.
[[nodiscard]] std::string last_lines_text(const RunResult& ended, const std::string& whose,
                                          std::FILE* stream);

/// One interval: one line per row. `head`: with column headings.
[[nodiscard]] std::string interval_lines(const Plan& plan, const Slice& slice, bool head);

/// The counts of a command or processes for CSV: of several repetitions median with its interval, mean and
/// standard deviation; of multiplexed and sampled ones the counted share; or why there is no value.
[[nodiscard]] std::vector<show::Datum> count_data(const Plan& plan, const RunResult& ended,
                                                  const std::string& what);
/// One row per value. `counted_only`: without those that were counted in no repetition.
[[nodiscard]] show::Table values_table(const Plan& plan, const RunResult& ended, bool counted_only = false);
/// The summary. `what` names the command or the processes; coloured if `stream` is a terminal.
[[nodiscard]] std::string stat_table(const Plan& plan, const RunResult& ended, const std::string& what,
                                     std::FILE* stream);
/// A line for each value, as perf stat -x writes them: see recount-stat(1). An interval's lines begin with
/// its time.
[[nodiscard]] std::string stat_csv(const Plan& plan, const RunResult& ended, const std::string& separator);
[[nodiscard]] std::string interval_csv(const Plan& plan, const Slice& slice, const std::string& separator);

/// How many runs of a command completed.
[[nodiscard]] Json runs_json(const RunResult& ended);
[[nodiscard]] std::string stat_json(const Plan& plan, const Request& request, const RunResult& ended,
                                    const std::vector<Slice>& intervals);

} // namespace recount::stat
