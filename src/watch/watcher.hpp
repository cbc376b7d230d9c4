// Counting a program interval by interval, and telling others.
#pragma once

#include "stat/run.hpp"
#include "watch/message.hpp"

#include <chrono>
#include <functional>
#include <poll.h>
#include <string>
#include <sys/types.h>
#include <vector>

namespace recount::watch {

struct WatchSettings {
  std::vector<std::string> command; ///< with PIDs: how long these are watched
  std::vector<pid_t> pids;          ///< empty: the command is watched
  std::string subject;              ///< what viewers are told
  std::chrono::milliseconds interval{1000};
  int in = 0, out = -1, err = -1; ///< the command's; out and err -1: ours, in -1: /dev/null
};

/// Who is told, and whatever else is to be waited for meanwhile. None of the functions may block.
struct Observer {
  std::function<void(const Message&)> tell; ///< hello, intervals, sections, what the program dropped, end
  /// The counts behind each interval, and at the end those of the whole.
  std::function<void(const stat::Slice&)> slice = [](const auto&) {};
  std::function<void()> started = [] {}; ///< the command has its own copies of its descriptors
  std::function<void(std::vector<pollfd>&)> polled = [](auto&) {}; ///< appends what else to wait for
  std::function<void(const std::vector<pollfd>&)> ready = [](const auto&) {}; ///< poll(2) has returned
  /// A signal came. True: enough, as long as it is a process that is watched; a command ends by itself.
  std::function<bool(int number)> signal = [](int) { return true; };
  std::function<bool()> enough = [] { return false; }; ///< asked after each poll; as for signal()
};

/// The series that a plan comes to, in the order of its rows.
[[nodiscard]] std::vector<Series> series_of(const stat::Plan& plan);

/// Watches from start to end. The exit status of the command as a shell tells it; 0 without one. Throws Error
/// and process::CannotRun as stat::run() does.
int watch(const stat::Plan& plan, const WatchSettings& settings, const Observer& observer);

} // namespace recount::watch
