// Whether the descendants of a process have ended.
#pragma once

#include "process/fd.hpp"

#include <sys/types.h>
#include <utility>

namespace recount::perf {

/// A dummy event inherited by all descendants of a process: poll(2) reports the end of the last task that
/// holds it. Movable.
class Descendants {
public:
  explicit Descendants(pid_t pid);
  Descendants(Descendants&& other) noexcept
      : fd_(std::move(other.fd_)), page_(std::exchange(other.page_, nullptr)) {}
  Descendants& operator=(Descendants&&) = delete;
  ~Descendants();
  /// Whether the process or a descendant still runs. False also if unknown: the event could not be opened, or
  /// Linux dropped it at an exec that gained privileges.
  [[nodiscard]] bool any() const;

private:
  process::Fd fd_;
  void* page_ = nullptr;
};

/// Note for descendants that outlive a command.
inline constexpr const char* outlived =
    "incomplete: child processes of the command were still running when it ended";

} // namespace recount::perf
