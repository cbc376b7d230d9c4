// Which CPU to measure on.
#pragma once

#include <vector>

namespace recount::host {

/// What speaks for a CPU.
struct Candidate {
  int cpu = 0;
  bool isolated = false; ///< kept free of other tasks (isolcpus)
  long capacity = 0;     ///< relative: the large cores of a hybrid CPU have more; 0: not told
};

/// Isolated before others, then the largest capacity, then the highest number: interrupts and daemons prefer
/// CPU 0. -1 when there is none. Pure.
[[nodiscard]] int best_cpu(const std::vector<Candidate>& candidates);

/// The CPUs that this process may run on, from sysfs.
[[nodiscard]] std::vector<Candidate> candidates();

} // namespace recount::host
