// Addresses of watch connections: Unix and TCP sockets.
#pragma once

#include "process/fd.hpp"

#include <string>

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

/// A non-blocking listening socket. A Unix socket is accessible to this user only and removed by the
/// destructor.
class Listener {
public:
  /// Throws Error: bad_input for an invalid address, unavailable when it is in use.
  explicit Listener(const std::string& address);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  /// As a viewer would write it; with the assigned port if 0 was requested.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  /// Whether other machines may connect: not a loopback address or Unix socket.
  [[nodiscard]] bool reachable() const noexcept { return reachable_; }
  /// The next pending connection, non-blocking; none: no pending connection.
  [[nodiscard]] process::Fd accept() const;

private:
  void listen_locally(const Address& at);
  void listen_by_tcp(const Address& at);
  std::string address_, path_;
  process::Fd fd_;
  bool reachable_ = false;
};

/// Throws Error (unavailable) if the connection is refused. The socket blocks.
[[nodiscard]] process::Fd connect_to(const std::string& address);

} // namespace recount::watch
