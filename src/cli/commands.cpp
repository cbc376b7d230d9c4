#include "cli/command.hpp"

namespace recount::cli {

std::vector<Command> commands() {
  return {
      doctor_command(),
#ifdef RECOUNT_EVENTS
      events_command(),
#endif
#ifdef RECOUNT_SWEEP
      sweep_command(),  run_point_command(),
#endif
#ifdef RECOUNT_PLOT
      plot_command(),
#endif
  };
}

} // namespace recount::cli
