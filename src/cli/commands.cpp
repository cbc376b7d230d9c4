#include "command/command.hpp"

namespace recount::cli {

std::vector<Command> commands() {
  return {
      doctor_command(),  events_command(),    lint_command(),          presets_command(),
      check_command(),   caches_command(),    caches_worker_command(), stat_command(),
      sweep_command(),   run_point_command(), plot_command(),          cost_command(),
      profile_command(), watch_command(),     matmul_command(),        report_command(),
  };
}

} // namespace recount::cli
