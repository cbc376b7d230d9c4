// What commands that measure share: parsing of options, stop signals, output files.
#pragma once

#include "base/witness.hpp"

#include "base/process/input.hpp"
#include "base/statistics/statistics.hpp"
#include "show/document/table.hpp"
#include "show/plot/sheet.hpp"

#include <recount/reason.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recount::command {
/// --seed; a random one when empty. Throws Error (bad_input), as the others do.
[[nodiscard]] std::uint64_t parse_seed(const std::string& text);

/// "without perf, papi: REASON": one line for all that is left out, with brief() reasons. Where there is no
/// core PMU, that is the reason for presets too, whatever their tables lack.
[[nodiscard]] std::string without_text(const std::map<std::string, Reason>& left_out);

/// The name of an event for short lines: without "perf::".
[[nodiscard]] inline std::string short_event_name(const std::string& name) {
  return name.starts_with("perf::") ? name.substr(6) : name;
}
/// The name of an event below the head of a table.
[[nodiscard]] inline show::Cell event_cell(const std::string& name) {
  return {"  " + name, "  " + short_event_name(name)};
}

// --statistic of commands that summarise repetitions.

inline constexpr const char* statistic_help =
    "show this statistic of the repetitions: median, minimum, mean (default median, with its 95 % interval)";

/// The median when empty. Throws recount::Error (bad_input).
[[nodiscard]] inline statistics::Statistic parse_statistic(const std::string& text) {
  return text.empty() ? statistics::Statistic::median : statistics::parse_statistic(text);
}

// The input of a program that is executed several times.

inline constexpr const char* input_help =
    "standard input of each run of COMMAND (default: that of recount, which must be a file if it runs twice)";

/// Before the first of several executions: refuses input that only one of them could read (bad_input), and
/// warns on stderr of FIFOs among the arguments. `command`: of recount, for the message.
void require_repeatable(const std::string& command, const process::Input& input,
                        const std::vector<std::string>& program);

// Where the output of a command goes: checked before anything is measured.

/// The options of one command that name output; an empty path is an option that was not given.
struct Outputs {
  std::string results = {};                                    ///< -o: a results file; "-" is stdout
  std::string plot = {};                                       ///< --plot: a figure
  bool plot_on_terminal = false;                               ///< --plot - draws text on stdout
  bool json = false;                                           ///< --json: stdout
  bool resume = false;                                         ///< --resume
  std::vector<std::pair<std::string, std::string>> files = {}; ///< others: {option, path}
};

/// Throws recount::Error where the output could not be written or drawn once everything is measured: a path
/// that cannot be written or is named twice, stdout wanted twice, --resume without a file, a figure of no
/// known format, no gnuplot for it. Creates and changes nothing.
void check_outputs(const Outputs& outputs);

/// "the results so far are in FILE; resume with COMMAND --resume" on stderr. Nothing when `file` is no file,
/// or when nothing was measured. `words`: the command line.
void print_resume_command(const std::string& command, const std::string& file, std::vector<std::string> words,
                          bool measured);

/// Draws, and prints file and warnings on stderr; "-" is text on stdout. Throws Error as plot::draw() does.
void draw_to(const std::string& path, const plot::Sheet& sheet);

} // namespace recount::command
