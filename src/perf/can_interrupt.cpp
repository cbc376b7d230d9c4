#include "perf/try_open.hpp"

#include <recount/sampling.hpp>

#include <cerrno>

namespace recount {

bool can_interrupt(const Event& event) {
  perf_event_attr attr = event.attr;
  attr.disabled = 1;
  if (!perf::open_sized(attr, {}).fd) return true; // cannot be counted at all: reported elsewhere
  attr.sample_period = std::uint64_t{1} << 30;
  const perf::Attempt sampling = perf::open_sized(attr, {});
  return sampling.fd || (sampling.error != EINVAL && sampling.error != EOPNOTSUPP);
}

} // namespace recount
