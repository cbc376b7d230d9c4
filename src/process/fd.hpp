// A file descriptor with one owner.
#pragma once

#include "process/signals.hpp"

#include <unistd.h>
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

/// Both ends of a pipe, close-on-exec. Throws recount::Error (unavailable).
struct Pipe {
  Fd read, write;
  Pipe();
};

} // namespace recount::process
