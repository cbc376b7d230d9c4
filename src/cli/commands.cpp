#include "cli/tables.hpp"

namespace recount::cli {

// Each is defined in the folder of its feature.
Command doctor_command();
Command events_command();
Command presets_command();
Command lint_command();
Command check_command();
Command caches_command();
Command caches_worker_command(); ///< hidden: measures for recount caches
/// `figures`: what its --plot may draw; must outlive the command.
Command sweep_command(const std::vector<figure::Figure>& figures);
Command stat_command();
Command run_point_command(); ///< hidden: serves one run of a sweep in a fresh process
Command plot_command();
Command profile_command();
Command watch_command();
Command matmul_command();
Command report_command();
Command cost_command();

std::vector<Command> commands() {
  return {
      doctor_command(),         events_command(),    lint_command(),          presets_command(),
      check_command(),          caches_command(),    caches_worker_command(), stat_command(),
      sweep_command(figures()), run_point_command(), plot_command(),          cost_command(),
      profile_command(),        watch_command(),     matmul_command(),        report_command(),
  };
}

} // namespace recount::cli
