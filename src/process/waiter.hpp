// Waiting for processes, signals and the next interval at once, without a race between them.
#pragma once

#include "process/child.hpp"
#include "process/fd.hpp"

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <functional>
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
    bool from_process = false; ///< kill(2), not a key of the terminal
  };
  /// The next that has arrived. Never waits.
  [[nodiscard]] Arrived next() const;

private:
  sigset_t before_{};
  Fd fd_;
};

/// Takes the signals that have arrived, and forwards to the child those that it did not receive itself: the
/// terminal sends its signals to the whole process group. The last number; 0: none came.
int forward(const HeldSignals& signals, const Child* child);

/// The exit status of a shell: the status, or 128 + the signal number.
[[nodiscard]] int shell_status(const Exit& exit) noexcept;

/// Whether a process has ended, also one that is no child.
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
  /// Waits until one of them has ended, a signal has arrived, the time is up, or `also` has input (-1: none).
  void wait(const HeldSignals& signals, std::optional<std::chrono::steady_clock::time_point> until,
            int also = -1);
  [[nodiscard]] bool all_ended() const noexcept { return watched_.empty(); }

private:
  std::vector<ProcessEnd> watched_; ///< those without a descriptor are looked at every 10 ms
};

// The threads of any running process.

/// The thread ids of a process now, the first thread's first. Empty when it has ended (or /proc is not
/// mounted).
[[nodiscard]] std::vector<pid_t> threads_of(pid_t pid);

/// The process (thread group) of a thread; none: it has ended, or /proc is not mounted.
[[nodiscard]] std::optional<pid_t> process_of(pid_t tid);

/// Calls `take` once for each thread, repeating until there are no new ones. `take` must follow threads
/// started later by a taken thread (perf events with inherit do), so that none is missed. It returns false
/// for a thread that has ended. Returns the number of taken threads.
std::size_t each_thread(pid_t pid, const std::function<bool(pid_t tid)>& take);

} // namespace recount::process
