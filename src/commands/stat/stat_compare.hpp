// Commands in turn, and which of their counts differ.
#pragma once

#include "base/statistics/statistics.hpp"
#include "run/stat_run.hpp"
#include "show/command/output.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace recount::stat {

/// Throws Error (bad_input) unless there are two commands or more with "---" between them.
[[nodiscard]] std::vector<std::vector<std::string>> split_commands(const std::vector<std::string>& words);

/// Repetitions by command.
using Results = std::vector<RunResult>;
/// Seconds of the last repetition of all commands.
[[nodiscard]] double last_round(const Results& results);

/// Runs each command once per round, each time another one first, so that a slow change of the machine meets
/// all. `go_on`: called after each round, whether another one follows. Throws as run().
[[nodiscard]] Results run_in_turn(const Plan& plan, std::vector<Request> requests,
                                  const std::function<bool(const Results& results)>& go_on);

/// A row of the plan for one command.
struct ComparedSide {
  std::vector<double> values = {};                           ///< repetitions with a value
  Reason reason = {};                                        ///< why there is none
  statistics::Evidence evidence = statistics::Evidence::few; ///< of a difference from the baseline
  std::optional<double> ratio = {};                          ///< of the medians, to that of the baseline
  /// Whether more values would change nothing: the sides differ, or by less than 2 %, or one has none.
  bool decided = true;
};

struct ComparedRow {
  std::string name, unit;
  std::vector<ComparedSide> sides;    ///< by command
  std::size_t baseline = 0;           ///< of `sides`
  bool derived = false;               ///< a metric that follows from the row before
  [[nodiscard]] bool decided() const; ///< all sides are
};
/// Compares each side with the baseline. Pure.
void judge(ComparedRow& row);

/// The wall time, then the rows of the plan; first the CPU time where it leads. Pure.
[[nodiscard]] std::vector<ComparedRow> compare_rows(const Plan& plan, const Results& results,
                                                    std::size_t baseline = 0);

/// Whether CPU time leads: it is a tenth of wall time, which varies more than twice as much. Pure.
[[nodiscard]] bool leads_cpu_time(const std::vector<ComparedRow>& rows);
/// Whether the leading time is decided, or where events were requested, all of these. Pure.
[[nodiscard]] bool decided(const std::vector<ComparedRow>& rows, bool requested);

/// "1.02 ?": a ratio that the repetitions do not establish.
[[nodiscard]] show::Table comparison_table(const std::vector<ComparedRow>& rows);
[[nodiscard]] std::string comparison_text(const std::vector<ComparedRow>& rows,
                                          const std::vector<Request>& requests, std::FILE* stream);
/// "2: exit status 1: 3 of 10 runs completed", with the fix; empty: all runs completed.
[[nodiscard]] std::string cut_short_text(const Results& results);
[[nodiscard]] std::string comparison_json(const std::vector<ComparedRow>& rows,
                                          const std::vector<Request>& requests, const Results& results);

} // namespace recount::stat
