#include "stat/attend.hpp"

#include <unistd.h>

namespace recount::stat {

process::Child start(const std::vector<std::string>& command, bool held,
                     const std::vector<std::pair<std::string, std::string>>& environment,
                     const std::vector<std::pair<int, int>>& descriptors) {
  process::Spawn spawn{command};
  spawn.environment = environment;
  spawn.descriptors = descriptors;
  spawn.in = STDIN_FILENO;
  spawn.inherits = true;
  spawn.own_group = false;
  spawn.die_with_parent = false;
  spawn.held = held;
  return process::Child(spawn);
}

process::Exit attend(process::Child& child, const process::HeldSignals& signals, int& signal, Ticks& ticks) {
  process::Processes processes({child.pid()});
  try {
    while (true) {
      if (const auto exit = child.wait_for(std::chrono::milliseconds(0))) {
        if (const int arrived = hand_on(signals, nullptr))
          signal = arrived; // it may be what ended the command
        return *exit;
      }
      processes.wait(signals, ticks.next());
      if (const int arrived = hand_on(signals, &child)) signal = arrived;
      ticks.look();
    }
  } catch (...) {
    child.wait(); // an error of recount must not kill the command
    throw;
  }
}

} // namespace recount::stat
