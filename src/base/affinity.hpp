// The CPUs that the calling thread may run on (sched_setaffinity(2)).
#pragma once

#include <sched.h>

#include <vector>

namespace recount::base {

/// Moves the calling thread to this CPU and keeps it there; false, with errno, where it may not run there.
/// Async-signal-safe.
inline bool pin_to(int cpu) noexcept {
  cpu_set_t one;
  CPU_ZERO(&one);
  if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(cpu), &one);
  return ::sched_setaffinity(0, sizeof one, &one) == 0; // EINVAL for none
}

/// The CPUs of the calling thread, which the destructor puts back.
class Affinity {
public:
  /// Restricts the thread to those CPUs of a list that it may use.
  explicit Affinity(const std::vector<int>& cpus = {}) noexcept
      : known_(::sched_getaffinity(0, sizeof before_, &before_) == 0) {
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    for (const int cpu : cpus)
      if (has(cpu)) CPU_SET(static_cast<unsigned>(cpu), &wanted);
    restricted_ = CPU_COUNT(&wanted) > 0 && ::sched_setaffinity(0, sizeof wanted, &wanted) == 0;
  }
  Affinity(const Affinity&) = delete;
  Affinity& operator=(const Affinity&) = delete;
  ~Affinity() {
    if (known_) ::sched_setaffinity(0, sizeof before_, &before_);
  }
  /// Whether the thread could use this CPU before.
  [[nodiscard]] bool has(int cpu) const noexcept {
    return known_ && cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(static_cast<unsigned>(cpu), &before_);
  }
  /// False: it may use none of the list, and stays where it was.
  [[nodiscard]] bool restricted() const noexcept { return restricted_; }

private:
  cpu_set_t before_{};
  bool known_, restricted_ = false;
};

} // namespace recount::base
