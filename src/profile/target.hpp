// The program that is looked at: one that is started for it, or one that runs already.
#pragma once

#include "process/child.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace recount::profile {

/// What is to be looked at; either a command or a process.
struct Who {
  std::vector<std::string> command;
  pid_t pid = 0;
  std::optional<int> cpu; ///< the command runs on this one only
};

/// A command that waits before its first instruction, or a process that is there. The command has our
/// terminal and our descriptors, and gets the signals of the terminal itself. It outlives us only when we are
/// killed.
class Target {
public:
  /// `stopped`: the command waits at its entry point instead of before exec, with its libraries mapped and
  /// nothing of it run.
  /// Throws process::CannotRun, and Error (bad_input) when there is no such process.
  Target(const Who& who, bool stopped);
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] bool started_here() const noexcept { return child_.has_value(); }
  /// The program's file, to open: while a command is held before exec, the one that will run.
  [[nodiscard]] std::string program() const;
  void go(); ///< lets the command run
  /// Whether it has ended.
  [[nodiscard]] bool ended();
  /// The command's exit status as a shell tells it: 128 + the signal that ended it. 0 for a process.
  [[nodiscard]] int status();

private:
  void stop_at_entry();
  std::optional<process::Child> child_;
  std::vector<std::string> command_;
  pid_t pid_ = 0;
  bool traced_ = false;
};

/// While it lives, SIGINT and SIGTERM end the looking, not the program: a process goes on without us, a
/// command has had its SIGINT from the terminal and is sent SIGTERM. One at a time.
class Interrupts {
public:
  Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();
  /// The signal that came last; 0: none.
  [[nodiscard]] static int came() noexcept;
};

} // namespace recount::profile
