// Remote viewers: each receives every line; a slow viewer does not block others.
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

/// Sends lines to connected viewers. Never blocks. Each viewer has a queue of at most 256 KiB;
/// lines that do not fit are dropped for that viewer only, and reported to it. Input from viewers is ignored;
/// a viewer that sends much is disconnected. Not thread-safe.
class Hub {
public:
  explicit Hub(const std::string& address) : listener_(address) {}
  [[nodiscard]] const std::string& address() const noexcept { return listener_.address(); }

  [[nodiscard]] bool reachable() const noexcept { return listener_.reachable(); }

  /// Descriptors to poll, and their handling after poll(2). `said` holds the entries appended by polled().
  void polled(std::vector<pollfd>& into) const;
  void serve(const std::vector<pollfd>& said);

  /// Sends to all viewers; later ones receive the hello and the most recent lines.
  void send(const Message& message);
  /// Waits until all queues are empty, at most the given time.
  void drain(int milliseconds);

  [[nodiscard]] std::size_t viewers() const noexcept { return viewers_.size(); }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; } ///< lines, over all viewers

private:
  struct Viewer {
    process::Fd fd;
    std::deque<std::string> queue;
    std::size_t queued = 0, sent_of_first = 0, heard = 0; ///< bytes
    std::uint64_t missed = 0;                             ///< lines dropped since the last report
    bool silent = false;                                  ///< it has shut down its sending side
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
