// Which process made an object.
#pragma once

#include <cstdint>

namespace recount::perf {

/// The process that made it. A forked child holds the parent's events by its copies of the descriptors, so
/// that an ioctl(2) there starts and stops the parent's counting; the mappings of events are not even
/// inherited (VM_DONTCOPY, perf_mmap() in kernel/events/core.c). Asking costs no system call.
class Owner {
public:
  Owner() noexcept;
  /// False in a child process of the one that made it.
  [[nodiscard]] bool here() const noexcept {
    return *static_cast<const volatile std::uint64_t*>(word_) == token_;
  }
  /// Throws Error (unavailable) unless here(); `subject` names what was made.
  void require_here(const char* subject) const;

private:
  const std::uint64_t* word_; ///< differs in every process
  std::uint64_t token_;
};

/// Why an object of the parent has no values in a child.
inline constexpr const char* of_another_process =
    "opened before fork(2) by the parent process, whose execution it counts";

} // namespace recount::perf
