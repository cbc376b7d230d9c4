// CPUs for kernels that need more than one.
#pragma once

#include <sched.h>

namespace recount::kernel {

/// The CPUs that the calling thread may run on, put back when destroyed.
class Affinity {
public:
  Affinity();
  Affinity(const Affinity&) = delete;
  Affinity& operator=(const Affinity&) = delete;
  ~Affinity();

private:
  cpu_set_t before_;
};

/// Moves the calling thread to this CPU and keeps it there; false when it may not run there.
[[nodiscard]] bool move_to(int cpu);

/// Pins the calling thread to its current CPU, and finds another CPU allowed for the process.
class TwoCpus {
public:
  /// Throws recount::Error (unavailable) naming the kernel when there is no other.
  explicit TwoCpus(const char* kernel);
  [[nodiscard]] int here() const { return here_; }
  [[nodiscard]] int other() const { return other_; }

private:
  Affinity as_it_was_;
  int here_, other_ = -1;
};

} // namespace recount::kernel
