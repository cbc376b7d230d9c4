// The profiled program: a new command, or running processes.
#pragma once

#include "process/child.hpp"
#include "process/waiter.hpp"

#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace recount::profile {

/// What to profile: the processes, until the command ends if there is one; without processes, the command.
struct TargetOptions {
  std::vector<std::string> command;
  std::vector<pid_t> pids;
  std::optional<int> cpu;                                            ///< the command runs on this one only
  std::vector<std::pair<std::string, std::string>> environment = {}; ///< of the command, beside the inherited
  std::vector<std::pair<int, int>> descriptors = {};                 ///< as process::Spawn
};

/// The command inherits the terminal and the descriptors and receives the signals of the terminal; signals
/// from other processes are forwarded to it. It continues if recount is killed.
class Target {
public:
  /// `stopped`: a command to be profiled waits at its entry point instead of before exec, with its libraries
  /// mapped and nothing of it run. Throws process::CannotRun, and Error (bad_input) when there is no such
  /// process.
  Target(const TargetOptions& options, bool stopped);
  /// The profiled processes: at least one.
  [[nodiscard]] const std::vector<pid_t>& pids() const noexcept { return pids_; }
  [[nodiscard]] pid_t pid() const noexcept { return pids_.front(); }
  [[nodiscard]] bool started_here() const noexcept { return observed_; }
  void go(); ///< lets the command run
  /// Whether to stop: the profiled processes or the command have ended, or a signal arrived while profiling
  /// processes (a command handles its signals itself).
  [[nodiscard]] bool over();
  /// Processor time of a profiled command, see process::Child::cpu_time(); 0 else.
  [[nodiscard]] std::chrono::nanoseconds cpu_time() const;
  /// Waits for the command: how it ended. Without a command as if it had succeeded.
  [[nodiscard]] process::Exit end();

private:
  void start(bool held, bool traced);
  void stop_at_entry();

  process::HeldSignals signals_;
  TargetOptions options_;
  std::optional<process::Child> child_;
  std::vector<pid_t> pids_;
  bool observed_ = false; ///< the command is profiled
  bool traced_ = false;
};

/// What was recorded of a command that a signal killed is incomplete.
[[nodiscard]] inline bool killed(const process::Exit& exit) {
  return exit.how == process::Exit::How::signalled;
}
/// ", incomplete: killed by signal 15 (SIGTERM)", ", exit status 7"; empty: it succeeded.
[[nodiscard]] std::string ending_text(const process::Exit& exit);

} // namespace recount::profile
