// The options of `recount sweep`, and the session that they define.
#pragma once

#include "kernel/command_line.hpp"
#include "sweep/session.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::sweep {

/// The options as typed.
struct SweepOptions {
  std::vector<std::string> kernel;     ///< the positional argument
  std::vector<std::string> parameters; ///< "--size", "4K:4M:x2", ...
  std::vector<std::string> witnesses, metrics, conditions;
  std::string seed, cpu, timeout, memory, output, plot, figure, export_to, statistic, sample, shard;
  long repeat = 5, draws = 0, parallel = 0, least = 0;
  bool resume = false, json = false, quiet = false, dry_run = false, no_verdicts = false;
};

/// Everything checked and filled in; no points where the shard has none. Throws recount::Error.
[[nodiscard]] sweep::Session sweep_session(const SweepOptions& options);

using kernel::quoted; // words of a command line that a shell reads back as they are

/// The page of a kernel's parameters, for `recount sweep --help KERNEL`.
[[nodiscard]] std::string kernel_help(const std::string& kernel);
/// All kernels, a line each.
[[nodiscard]] std::string kernels_help();

} // namespace recount::sweep
