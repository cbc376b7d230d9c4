// A file descriptor with one owner.
#pragma once

#include "base/process/signals.hpp"

#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

namespace recount::process {

/// Owns a descriptor and closes it; -1 owns nothing. Movable, not copyable.
class Fd {
public:
  Fd() = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Fd() { reset(); }
  [[nodiscard]] int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept {
    if (fd_ >= 0) {
      const CancelBlocked uncancelled; // close(2) is a cancellation point
      ::close(fd_);
    }
    fd_ = fd;
  }

private:
  int fd_ = -1;
};

/// Opens /dev/null for output that nobody reads; empty, with errno, if that fails.
[[nodiscard]] Fd null_output();

/// Both ends of a pipe, close-on-exec. Throws recount::Error (unavailable).
struct Pipe {
  Fd read, write;
  Pipe();
};

// Complete writes.

/// Writes the whole text to a descriptor that blocks, also when signals interrupt it. False with errno when
/// it cannot.
[[nodiscard]] inline bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

} // namespace recount::process
