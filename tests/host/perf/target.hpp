// A child that waits until it is told to go on: something to attach to.
#pragma once

#include <csignal>
#include <functional>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

/// Forks at once; `body` runs in the child after go(). Killed and reaped with the object.
class Target {
public:
  explicit Target(const std::function<void()>& body) {
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[1]);
      char go = 0;
      if (read(ends[0], &go, 1) == 1) body();
      _exit(0);
    }
    close(ends[0]);
    gate_ = ends[1];
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target() {
    close(gate_);
    if (pid_ > 0) kill(pid_, SIGKILL); // it may wait for what a case that failed no longer does
    join();
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Once; again it does nothing.
  void go() {
    if (std::exchange(gone_, true)) return;
    if (write(gate_, "g", 1) != 1 && pid_ > 0) kill(pid_, SIGKILL);
  }
  /// Waits for its end.
  void join() {
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

private:
  pid_t pid_ = -1;
  int gate_ = -1;
  bool gone_ = false;
};
