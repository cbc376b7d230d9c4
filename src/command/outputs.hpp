// Where the output of a command goes: checked before anything is measured.
#pragma once

#include "plot/sheet.hpp"

#include <string>
#include <utility>
#include <vector>

namespace recount::command {

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
