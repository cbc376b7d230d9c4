#include "kernel/system/cpus.hpp"

#include "recount/error.hpp"

#include <algorithm>

#include <unistd.h>

namespace recount::kernel {

Affinity::Affinity() {
  CPU_ZERO(&before_);
  sched_getaffinity(0, sizeof before_, &before_);
}

Affinity::~Affinity() {
  sched_setaffinity(0, sizeof before_, &before_);
}

bool move_to(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(cpu), &one);
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

TwoCpus::TwoCpus(const char* kernel) : here_(std::max(0, sched_getcpu())) {
  // A sweep binds the process that measures to one CPU, but not the one that started it.
  cpu_set_t own, parents;
  CPU_ZERO(&own);
  CPU_ZERO(&parents);
  sched_getaffinity(0, sizeof own, &own);
  sched_getaffinity(getppid(), sizeof parents, &parents);
  for (int cpu = 0; cpu < CPU_SETSIZE && other_ < 0; ++cpu) {
    const auto at = static_cast<unsigned>(cpu);
    if (cpu != here_ && (CPU_ISSET(at, &own) || CPU_ISSET(at, &parents)) && move_to(cpu)) other_ = cpu;
  }
  if (other_ < 0 || !move_to(here_))
    throw unavailable(kernel, "needs two CPUs, but this process may run on one only", {},
                      "start recount without taskset(1), or in a cpuset of two CPUs");
}

} // namespace recount::kernel
