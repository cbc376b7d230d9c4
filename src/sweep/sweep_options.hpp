// The options of `recount sweep`, and the runs that they define.
#pragma once

#include "sweep/batch.hpp"

#include <string>
#include <vector>

namespace recount::sweep {

/// The options as typed.
struct SweepOptions : BatchOptions {
  std::vector<std::string> kernel;     ///< the positional argument
  std::vector<std::string> parameters; ///< "--size", "4K:4M:x2", ...
  std::vector<std::string> witnesses, metrics, conditions;
  std::string memory, plot, figure, export_to, statistic, sample;
  long repeat = 5, draws = 0, least = 0;
  bool json = false, dry_run = false, no_verdicts = false;
};

/// A sweep, ready to be run.
struct SweepRun {
  const kernel::Kernel& kernel;
  Plan plan;
  Grid grid;   ///< expand(plan, kernel), of the shard
  Batch batch; ///< schedule(plan, grid)
};

/// Everything checked and filled in; no points where the shard has none. Throws recount::Error.
[[nodiscard]] SweepRun make_sweep(const SweepOptions& options);

/// The page of a kernel's parameters, for `recount sweep --help KERNEL`.
[[nodiscard]] std::string kernel_help(const std::string& kernel);
/// All kernels, a line each.
[[nodiscard]] std::string kernels_help();

} // namespace recount::sweep
