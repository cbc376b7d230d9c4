// Viewers elsewhere: each gets every line, and none can hold up the others.
#pragma once

#include "process/fd.hpp"
#include "watch/address.hpp"
#include "watch/message.hpp"

#include <deque>
#include <list>
#include <poll.h>
#include <string>
#include <vector>

namespace recount::watch {

/// Sends lines to whoever connects. Nothing here ever waits. Each viewer has a queue of at most 256 KiB;
/// lines that do not fit are dropped for that viewer alone, and it is told how many. What viewers send is not
/// looked at, and one that sends much is cut off. Not thread-safe.
class Hub {
public:
  explicit Hub(const std::string& address) : listener_(address) {}
  [[nodiscard]] const std::string& address() const noexcept { return listener_.address(); }

  [[nodiscard]] bool reachable() const noexcept { return listener_.reachable(); }

  /// What to wait for, and what to do when poll(2) returned. `said` is what was appended by polled().
  void polled(std::vector<pollfd>& into) const;
  void serve(const std::vector<pollfd>& said);

  /// To all viewers; those that come later get the hello, and of the rest the last lines.
  void send(const Message& message);
  /// Waits until all queues are empty, at most so long: before the end.
  void drain(int milliseconds);

  [[nodiscard]] std::size_t viewers() const noexcept { return viewers_.size(); }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; } ///< lines, over all viewers

private:
  struct Viewer {
    process::Fd fd;
    std::deque<std::string> queue;
    std::size_t queued = 0, sent_of_first = 0, heard = 0; ///< bytes
    std::uint64_t missed = 0;                             ///< lines since it was last told
    bool silent = false;                                  ///< it said that it will say nothing
  };
  void welcome();
  void push(Viewer& viewer, const std::string& line);
  static bool flush(Viewer& viewer);
  static bool hear(Viewer& viewer);

  Listener listener_;
  std::list<Viewer> viewers_;
  std::string hello_;
  std::deque<std::string> recent_;
  std::uint64_t dropped_ = 0;
};

} // namespace recount::watch
