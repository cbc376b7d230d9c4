// Where viewers and the watched meet: Unix and TCP sockets.
#pragma once

#include "process/fd.hpp"

#include <string>

namespace recount::watch {

/// "unix:PATH", or anything with a slash: a Unix socket. "HOST:PORT", "[ADDRESS]:PORT", ":PORT" or "PORT":
/// TCP, on this machine alone unless another address is given.
struct Address {
  bool local = false; ///< a Unix socket
  std::string path;   ///< of a Unix socket
  std::string host = "localhost", port;
};
/// Throws Error (bad_input).
[[nodiscard]] Address parse_address(const std::string& text);

/// A listening socket that does not block; a Unix socket is for this user only, and goes with this object.
class Listener {
public:
  /// Throws Error: bad_input for an address that cannot be taken, unavailable when it is in use.
  explicit Listener(const std::string& address);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  /// As a viewer would write it, with the port that was given where 0 was asked for.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  /// Whether other machines may connect: an address that is not this machine's own.
  [[nodiscard]] bool reachable() const noexcept { return reachable_; }
  /// The next who wants to be connected; none: nobody. The socket does not block.
  [[nodiscard]] process::Fd accept() const;

private:
  void listen_locally(const Address& at);
  void listen_by_tcp(const Address& at);
  std::string address_, path_;
  process::Fd fd_;
  bool reachable_ = false;
};

/// Throws Error (unavailable) when nobody answers there. The socket blocks.
[[nodiscard]] process::Fd connect_to(const std::string& address);

} // namespace recount::watch
