// Watch connections: sends the messages of a watch to remote viewers.
#pragma once

#include "base/process/fd.hpp"
#include "commands/watch/message.hpp"

#include <poll.h>
#include <sys/stat.h>

#include <deque>
#include <list>
#include <string>
#include <vector>

namespace recount::watch {

/// "unix:PATH", or anything with a slash: a Unix socket. "HOST:PORT", "[ADDRESS]:PORT", ":PORT" or "PORT":
/// TCP, bound to the loopback address unless another is given.
struct Address {
  bool local = false; ///< a Unix socket
  std::string path;   ///< of a Unix socket
  std::string host = "localhost", port;
};
/// Throws Error (bad_input).
[[nodiscard]] Address parse_address(const std::string& text);

/// Throws Error (unavailable) if the connection is refused. The socket blocks.
[[nodiscard]] process::Fd connect_to(const std::string& address);

/// Sends lines to connected viewers. Never blocks. Each viewer has a queue of at most 256 KiB;
/// lines that do not fit are dropped for that viewer only, and reported to it. Input from viewers is ignored;
/// a viewer that sends much is disconnected. Not thread-safe.
class Hub {
public:
  /// Listens. A Unix socket is accessible to this user only and removed by the destructor. Throws Error:
  /// bad_input for an invalid address, unavailable when it is in use.
  explicit Hub(const std::string& address);
  ~Hub();
  /// As a viewer would write it; with the assigned port if 0 was requested.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  /// Whether other machines may connect: not a loopback address or Unix socket.
  [[nodiscard]] bool reachable() const noexcept { return reachable_; }

  /// Descriptors to poll, and their handling after poll(2). `ready` holds the entries appended by polled().
  void polled(std::vector<pollfd>& fds) const;
  void serve(const std::vector<pollfd>& ready);

  /// Sends to all viewers; later ones receive the hello and the most recent lines.
  void send(const Message& message);
  /// Waits until all queues are empty, at most the given time.
  void drain(int milliseconds);

  [[nodiscard]] std::size_t viewers() const noexcept { return viewers_.size(); }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; } ///< lines, over all viewers

private:
  struct Viewer {
    process::Fd fd;
    std::deque<std::string> queue = {};
    std::size_t queued = 0, sent_of_first = 0, received = 0; ///< bytes
    std::uint64_t missed = 0;                                ///< lines dropped since the last report
    bool silent = false;                                     ///< it has shut down its sending side
  };
  void accept_viewers();
  void push(Viewer& viewer, const std::string& line);
  static bool flush(Viewer& viewer);
  static bool discard_input(Viewer& viewer);

  /// Removes the socket of `path_`, unless somebody has put another file in its place.
  void remove_socket() const;

  std::string address_, path_;
  struct stat socket_ {}; ///< of `path_`
  process::Fd listener_;
  bool reachable_ = false;
  std::list<Viewer> viewers_;
  std::string hello_;
  std::deque<std::string> recent_;
  std::uint64_t dropped_ = 0;
};

} // namespace recount::watch
