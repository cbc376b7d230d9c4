#include "kernel/cpus.hpp"

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
  const long configured = std::min<long>(sysconf(_SC_NPROCESSORS_CONF), CPU_SETSIZE);
  for (int cpu = 0; cpu < configured && other_ < 0; ++cpu)
    if (cpu != here_ && move_to(cpu)) other_ = cpu;
  if (other_ < 0 || !move_to(here_))
    throw unavailable(kernel, "needs a second CPU, and this process may run on one only");
}

} // namespace recount::kernel
