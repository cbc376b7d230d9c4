// The program that is looked at: one that is started for it, or one that runs already.
#pragma once

#include "process/child.hpp"
#include "process/waiter.hpp"

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace recount::profile {

/// What is to be looked at: the processes, for as long as the command takes where there is one; without a
/// process, the command.
struct Who {
  std::vector<std::string> command;
  std::vector<pid_t> pids;
  std::optional<int> cpu; ///< the command runs on this one only
};

/// The command has our terminal and our descriptors, and the signals of the terminal reach it by themselves;
/// those of other processes are handed on to it. It goes on when we are killed.
class Target {
public:
  /// `stopped`: a command to be looked at waits at its entry point instead of before exec, with its libraries
  /// mapped and nothing of it run. Throws process::CannotRun, and Error (bad_input) when there is no such
  /// process.
  Target(const Who& who, bool stopped);
  /// Of the processes that are looked at: one at least.
  [[nodiscard]] const std::vector<pid_t>& pids() const noexcept { return pids_; }
  [[nodiscard]] pid_t pid() const noexcept { return pids_.front(); }
  [[nodiscard]] bool started_here() const noexcept { return observed_; }
  void go(); ///< lets the command run
  /// Whether the looking is over: what is looked at, or the command, has ended; or somebody asked for it by a
  /// signal, which ends the looking at a process and is the command's own affair otherwise.
  [[nodiscard]] bool over();
  /// Processor time of a command that is looked at, see process::Child::cpu_time(); 0 else.
  [[nodiscard]] std::chrono::nanoseconds cpu_time() const;
  /// Waits for the command and gives its exit status as a shell tells it: 128 + the signal that ended it. 0
  /// without a command.
  [[nodiscard]] int status();

private:
  void start(bool held, bool traced);
  void stop_at_entry();

  process::HeldSignals signals_;
  Who who_;
  std::optional<process::Child> child_;
  std::vector<pid_t> pids_;
  bool observed_ = false; ///< the command is what is looked at
  bool traced_ = false;
};

} // namespace recount::profile
