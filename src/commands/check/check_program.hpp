// recount check --program: counts of a program, compared with those of its execution under Valgrind.
#pragma once

#include "base/process/input.hpp"
#include "commands/check/check.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recount::check {

struct ProgramRequest {
  std::vector<std::string> command = {};
  std::string machine = "host"; ///< whose caches are simulated, see model::machine()
  int repeat = 4;
  std::optional<double> tolerance = {};
  std::optional<std::chrono::milliseconds> limit = {}; ///< of each counted execution
  process::Input input = process::Input();             ///< of each execution
};

/// Throws Error (unavailable) where nothing could be compared: no core PMU, no Valgrind.
void require_program_check(const ProgramRequest& request);

/// Modelled counts of a program, by preset.
struct ExpectedProgram {
  std::map<std::string, Stated> presets;
  std::vector<std::string> notes; ///< why some are missing or uncertain
};
/// Executes the command once under the tool. Throws Error as trace::tool_command() does.
[[nodiscard]] ExpectedProgram trace_program(const ProgramRequest& request);

/// Counts the command for those subjects of the plan that have an expected count, and judges. The others are
/// not counted.
[[nodiscard]] Checked check_program(const ProgramRequest& request, const CheckPlan& plan,
                                    const ExpectedProgram& expected);

} // namespace recount::check
