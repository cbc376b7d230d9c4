// Counts of a whole program, by perf and by PAPI.
#pragma once

#include "result/observation.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recount::witness {

struct ProgramTask {
  std::vector<std::string> command = {};
  std::vector<std::pair<std::string, std::string>> environment = {}; ///< set beside the inherited variables
  std::vector<std::string> metrics = {};
  int repeat = 1; ///< executions for each set of metrics that fits on the counters, and each witness
  std::optional<std::chrono::milliseconds> limit = {}; ///< of each execution
};

/// Executes the command with standard input and output at /dev/null, counts it and its descendants in user
/// mode from its entry point on, and never multiplexes. One observation for each metric, witness and
/// repetition, of the kernel "command"; each repetition counts as a process of its own (see passes).
/// Everything happens in a forked child. Throws recount::Error (unavailable) for a command that cannot be
/// executed, or if counting it crashes.
[[nodiscard]] std::vector<result::Observation> count_program(const ProgramTask& task);

} // namespace recount::witness
