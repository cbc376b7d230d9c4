// Values of a command by simulation: recount stat --witness model.
#pragma once

#include "model/machine.hpp"
#include "run/stat_run.hpp"

#include <string>
#include <vector>

namespace recount::stat {

/// --witness.
struct Witnesses {
  bool perf = true, papi = false;
  std::vector<Witness> models = {};
};
/// Throws Error (bad_input) for one that cannot observe a command.
[[nodiscard]] Witnesses parse_witnesses(const std::vector<std::string>& lists);

/// A model's rows of a plan.
struct ModelledRows {
  Witness witness;
  model::MachineDescription machine;
  std::size_t first = 0, count = 0; ///< in the plan
};

/// Adds a row for each model and item, those without a value with their reason. Without items: what describes
/// the accesses of a program. Throws Error as model::machine() does.
[[nodiscard]] std::vector<ModelledRows> add_modelled(Plan& plan, const std::vector<Item>& items,
                                                     const std::vector<Witness>& models, long sample);

/// An execution for each model, under the tool. Plan, models and request must outlive the passes. Throws
/// Error as trace::tool_command() does.
[[nodiscard]] std::vector<Pass> model_passes(const Plan& plan, const std::vector<ModelledRows>& models,
                                             const Request& request);

} // namespace recount::stat
