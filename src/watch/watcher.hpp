// Counts a program per interval and notifies an observer.
#pragma once

#include "stat/stat_run.hpp"
#include "watch/message.hpp"

#include <chrono>
#include <functional>
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

/// Callbacks for messages, and further descriptors to poll. None of the functions may block.
struct Observer {
  std::function<void(const Message&)> tell; ///< hello, intervals, sections, what the program dropped, end
  /// The counts behind each interval, and at the end those of the whole.
  std::function<void(const stat::Slice&)> slice = [](const auto&) {};
  std::function<void()> started = [] {}; ///< the command has its own copies of its descriptors
  std::function<void(std::vector<pollfd>&)> polled = [](auto&) {};            ///< appends descriptors to poll
  std::function<void(const std::vector<pollfd>&)> ready = [](const auto&) {}; ///< poll(2) has returned
  /// A signal arrived. True: stop watching processes; a command is watched until it ends.
  std::function<bool(int number)> signal = [](int) { return true; };
  std::function<bool()> enough = [] {
    return false;
  }; ///< called after each poll; true: stop, as for signal()
};

/// The series of a plan, in the order of its rows.
[[nodiscard]] std::vector<Series> series_of(const stat::Plan& plan);

/// Watches from start to end. The exit status of the command as a shell reports it; 0 without one. Throws
/// Error and process::CannotRun as stat::run() does.
int watch(const stat::Plan& plan, const WatchSettings& settings, const Observer& observer);

} // namespace recount::watch
