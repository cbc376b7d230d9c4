// Whether what a process started has ended with it.
#pragma once

#include "process/fd.hpp"

#include <sys/types.h>
#include <utility>

namespace recount::perf {

/// An event that counts nothing, which all that a process starts inherits: poll(2) tells when the last task
/// has ended that holds it. Movable.
class Descendants {
public:
  explicit Descendants(pid_t pid);
  Descendants(Descendants&& other) noexcept
      : fd_(std::move(other.fd_)), page_(std::exchange(other.page_, nullptr)) {}
  Descendants& operator=(Descendants&&) = delete;
  ~Descendants();
  /// Whether the process, or one that it started since, still runs. False also where this cannot be told: the
  /// event could not be opened, or Linux dropped it at an exec that gained privileges.
  [[nodiscard]] bool any() const;

private:
  process::Fd fd_;
  void* page_ = nullptr;
};

/// What is to be told when there are any after the end of a command.
inline constexpr const char* outlived =
    "incomplete: child processes of the command were still running when it ended";

} // namespace recount::perf
