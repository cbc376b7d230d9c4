// Waiting for processes, signals and the next interval at once, without a race between them.
#pragma once

#include "base/process/child.hpp"
#include "base/process/fd.hpp"

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

namespace recount::process {

/// Blocks SIGINT, SIGQUIT, SIGTERM and SIGHUP during its lifetime and receives them through a descriptor.
class HeldSignals {
public:
  HeldSignals();
  ~HeldSignals();
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  struct Arrived {
    int number = 0;            ///< 0: none
    bool from_process = false; ///< by kill(2), not by a key of the terminal
  };
  /// The next pending signal. Does not wait.
  [[nodiscard]] Arrived next() const;

private:
  sigset_t before_{};
  Fd fd_;
};

/// Receives the pending signals, and forwards those sent by a process to the child: the terminal signals the
/// whole process group itself. Returns the number of the last signal; 0: none.
int forward(const HeldSignals& signals, const Child* child);

/// As the shell reports it: the exit status, or 128 + the signal number.
[[nodiscard]] int shell_status(const Exit& exit) noexcept;

/// Whether a process has ended. It need not be a child.
class ProcessEnd {
public:
  explicit ProcessEnd(pid_t pid);
  [[nodiscard]] int fd() const noexcept { return fd_.get(); } ///< readable once it has ended; -1: none
  [[nodiscard]] bool reached() const noexcept;

private:
  pid_t pid_;
  Fd fd_; ///< none where pidfd_open(2) is missing or forbidden
};

/// Reports the end of processes.
class Processes {
public:
  explicit Processes(const std::vector<pid_t>& pids) : watched_(pids.begin(), pids.end()) {}
  /// Waits until a process has ended, a signal is pending, the time is up, or one of `inputs` is readable
  /// (-1: none).
  void wait(const HeldSignals& signals, std::optional<std::chrono::steady_clock::time_point> until,
            std::initializer_list<int> inputs = {});
  [[nodiscard]] bool all_ended() const noexcept { return watched_.empty(); }

private:
  std::vector<ProcessEnd> watched_; ///< those without a descriptor are polled every 10 ms
};

// The threads of any running process.

/// The current thread IDs of a process, the main thread first. Empty if the process has ended or /proc is not
/// mounted.
[[nodiscard]] std::vector<pid_t> read_threads(pid_t pid);

/// The process (thread group) of a thread; none if the thread has ended or /proc is not mounted.
[[nodiscard]] std::optional<pid_t> read_process(pid_t tid);

/// Calls `attach` once per thread, until there are no new threads. `attach` must include the threads that the
/// thread starts later (perf events with inherit do). It returns false if the thread has ended. Returns the
/// number of attached threads.
std::size_t each_thread(pid_t pid, const std::function<bool(pid_t tid)>& attach);

} // namespace recount::process
