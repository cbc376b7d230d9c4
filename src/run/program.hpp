// The user's own program at the points of a sweep: recount sweep -P n=600:3000:400 -- ./mm {n}.
#pragma once

#include "kernel/kernel.hpp"
#include "run/result/results_file.hpp"
#include "run/sweep_plan.hpp"
#include "run/witness/backend.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace recount::sweep {

/// The kernel of its results.
inline constexpr const char* program_kernel = "program";

/// What is executed at a point; before at(), {NAME} stands for a parameter.
struct Program {
  std::vector<std::string> command, prepare; ///< prepare: before each run; empty: nothing
  std::vector<std::string> environment;      ///< "NAME=TEXT"
  std::string folder, input;                 ///< empty: that of recount; /dev/null
  long warm_up = 0;                          ///< runs of each witness before its first repetition of a point
  long sample = 0;                           ///< stat::Request::sample
  bool operator==(const Program&) const = default;

  /// With the values of a point. Throws recount::Error (bad_input) for a name that is no parameter.
  [[nodiscard]] Program at(const result::Params& point) const;
  /// Whether a text depends on this parameter of the point.
  [[nodiscard]] bool uses(result::Params point, const std::string& parameter) const;
  /// Setting by setting, as the header of a results file has them.
  [[nodiscard]] std::map<std::string, std::string> settings() const;
  /// What run-point gets to execute this one: options, "--" and the command.
  [[nodiscard]] std::vector<std::string> arguments() const;
};

/// A parameter of this name that nothing uses states the section of the program (recount/sections.h) that is
/// observed, and one of its values the whole program.
inline constexpr const char *section_parameter = "section", *whole_program = "program";

inline constexpr std::size_t max_program_points = 10'000;

/// "n=600:3000:400", "impl=simple,line": numbers where all items are, else words. Throws recount::Error
/// (bad_input) for what reads otherwise, a name that is given twice, and more than max_program_points.
[[nodiscard]] std::vector<Axis> parse_program_axes(const std::vector<std::string>& texts);

/// Throws recount::Error (bad_input) for a placeholder that is no axis, another axis that nothing uses, and
/// an environment that is not NAME=TEXT.
void check_program(const Program& program, const std::vector<Axis>& axes);

/// The axes as the parameters of a kernel, for grids and conditions. It cannot be prepared.
[[nodiscard]] std::unique_ptr<kernel::Kernel> make_program_kernel(const std::vector<Axis>& axes);

/// Executes the program once at the point of the task and counts it as recount stat does: "seconds" by the
/// clock, without counters; else one observation per metric. Sets environment and folder of this process.
/// Throws recount::Error when the program fails or cannot be executed.
[[nodiscard]] std::vector<result::Observation> observe_program(const Program& program,
                                                               const witness::Task& task);

/// The metric of the speed-up over a baseline.
inline constexpr const char* speed_up = "speed-up";
/// "impl=simple" as parameter and value. Throws recount::Error (bad_input) where they are not of the axes.
[[nodiscard]] std::pair<std::string, result::ParamValue> parse_baseline(const std::string& text,
                                                                        const std::vector<Axis>& axes);
/// Adds, where the plan of a run states a baseline, the speed-up of each time over that of the same
/// repetition at the baseline, which neighbours it in time.
[[nodiscard]] result::Results with_speed_up(result::Results results);

/// The program of this process's runs (serve_request()).
[[nodiscard]] Program& this_command();

} // namespace recount::sweep
