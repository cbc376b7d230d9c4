// Keeps the calling thread on some of its CPUs for a while.
#pragma once

#include <sched.h>
#include <vector>

namespace recount::perf {

/// Restricts the calling thread to those CPUs of a list that it may use anyway; the destructor undoes it.
class OnCpus {
public:
  explicit OnCpus(const std::vector<int>& cpus) {
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    for (const int cpu : cpus)
      if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<unsigned>(cpu), &wanted);
    if (::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    CPU_AND(&wanted, &wanted, &before_);
    there_ = CPU_COUNT(&wanted) > 0 && ::sched_setaffinity(0, sizeof wanted, &wanted) == 0;
  }
  OnCpus(const OnCpus&) = delete;
  OnCpus& operator=(const OnCpus&) = delete;
  ~OnCpus() {
    if (there_) ::sched_setaffinity(0, sizeof before_, &before_);
  }
  /// False: it may use none of them, and stays where it was.
  [[nodiscard]] bool there() const noexcept { return there_; }

private:
  cpu_set_t before_{};
  bool there_ = false;
};

} // namespace recount::perf
