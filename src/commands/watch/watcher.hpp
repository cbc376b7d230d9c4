// Counts a program per interval, receives its section marks, and notifies an observer.
#pragma once

#include "base/process/fd.hpp"
#include "commands/watch/message.hpp"
#include "run/stat_run.hpp"

#include <chrono>
#include <poll.h>
#include <string>
#include <sys/types.h>
#include <vector>

namespace recount::watch {

struct WatchSettings {
  std::vector<std::string> command; ///< with PIDs: watch them until it ends
  std::vector<pid_t> pids;          ///< empty: the command is watched
  std::string subject;              ///< shown to viewers
  std::chrono::milliseconds interval{1000};
  int in = 0, out = -1, err = -1; ///< of the command; out and err -1: inherited, in -1: /dev/null
};

/// Receives messages, and polls further descriptors. None of the functions may block.
class Observer {
public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;

  virtual void message(const Message& message) = 0;
  /// The counts behind each interval, and at the end those of the whole.
  virtual void slice(const stat::Slice&) {}
  virtual void started() {}                          ///< the command has its own copies of its descriptors
  virtual void polled(std::vector<pollfd>&) const {} ///< appends descriptors to poll
  virtual void ready(const std::vector<pollfd>&) {}  ///< poll(2) has returned
  /// A signal arrived. True: stop watching processes; a command is watched until it ends.
  virtual bool signal(int) { return true; }
  /// Called after each poll. True: stop, as for signal().
  [[nodiscard]] virtual bool enough() const { return false; }
};

/// The series of a plan, in the order of its rows.
[[nodiscard]] std::vector<Series> make_series(const stat::Plan& plan);

/// Watches from start to end. The exit status of the command as a shell reports it; 0 without one. Throws
/// Error and process::CannotRun as stat::run() does.
int watch(const stat::Plan& plan, const WatchSettings& settings, Observer& observer);

} // namespace recount::watch
