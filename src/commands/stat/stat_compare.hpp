// Two commands in turn, and which of their counts differ.
#pragma once

#include "base/statistics/statistics.hpp"
#include "run/stat_run.hpp"
#include "show/command/output.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recount::stat {

/// Throws Error (bad_input) unless there are two commands with one "---" between them.
[[nodiscard]] std::pair<std::vector<std::string>, std::vector<std::string>>
split_commands(const std::vector<std::string>& words);

/// Repetitions of two commands, by command.
struct TwoResults {
  RunResult first, second;
  /// Seconds of the last repetition of both.
  [[nodiscard]] double last_pair() const {
    return first.repetitions.back().end + second.repetitions.back().end;
  }
};

/// Runs both commands once per round, alternating which is first, so that a slow change of the machine meets
/// both. `go_on`: called after each round, whether another one follows. Throws as run().
[[nodiscard]] TwoResults run_in_turn(const Plan& plan, const Request& first, const Request& second,
                                     const std::function<bool(const TwoResults& both)>& go_on);

/// One row of the plan for both commands.
struct ComparedRow {
  std::string name, unit;
  std::vector<double> first = {}, second = {}; ///< repetitions with a value
  Reason reason = {};                          ///< why one has none; empty: both have
  statistics::Evidence evidence = statistics::Evidence::few;
  std::optional<double> ratio = {}; ///< of the medians, second / first
  bool beside = false;              ///< a metric that follows from the row before
  /// Whether more values would change nothing: both differ, or by less than 2 %, or one has none.
  [[nodiscard]] bool decided() const;
};

/// The wall time, then the rows of the plan; first the CPU time where it leads. Pure.
[[nodiscard]] std::vector<ComparedRow> compare_rows(const Plan& plan, const TwoResults& both);

/// Whether CPU time leads: it is a tenth of wall time, which varies more than twice as much. Pure.
[[nodiscard]] bool leads_cpu_time(const std::vector<ComparedRow>& rows);
/// Whether the leading time is decided, or where events were requested, all of these. Pure.
[[nodiscard]] bool decided(const std::vector<ComparedRow>& rows, bool requested);

/// "1.02 ?": a ratio that the repetitions do not establish.
[[nodiscard]] show::Table comparison_table(const std::vector<ComparedRow>& rows);
[[nodiscard]] std::string comparison_text(const std::vector<ComparedRow>& rows, const std::string& first,
                                          const std::string& second, std::FILE* stream);
/// "2: exit status 1: 3 of 10 runs completed", with the fix; empty: all runs completed.
[[nodiscard]] std::string cut_short_text(const TwoResults& both);
[[nodiscard]] std::string comparison_json(const std::vector<ComparedRow>& rows, const Request& first,
                                          const Request& second, const TwoResults& both);

} // namespace recount::stat
