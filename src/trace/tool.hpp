// The Valgrind tool that hands recount the accesses of a program.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace recount::trace {

/// How to start a program under the tool.
struct ToolCommand {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;
};

/// What every traced run is told.
struct ToolOptions {
  std::string channel;   ///< Channel::name()
  bool sections = false; ///< the program's section messages are wanted, see sections_variable
  bool objects = false;  ///< where data are is wanted: for a sink with memory()
  bool exact = false;    ///< every instruction that is executed, and no other: blocks end at each branch
};

/// Why nothing can be traced here; empty: it can.
[[nodiscard]] std::string untraceable();

/// Throws recount::Error (unavailable): where untraceable(), or for a program that Valgrind cannot execute,
/// with its reason; process::CannotRun for one that cannot be found or executed at all.
[[nodiscard]] ToolCommand tool_command(const std::vector<std::string>& command, const ToolOptions& options);

} // namespace recount::trace
