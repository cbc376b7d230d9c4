// From an event's attributes to the rows of the event table that it counts.
#pragma once

#include "emulate/machine.hpp"

#include <linux/perf_event.h>
#include <optional>
#include <vector>

namespace recount::emulate {

/// Which PMU and which configuration; an errno where Linux gives one.
struct Encoding {
  int pmu = -1;
  std::uint64_t config = 0, config1 = 0;
  int error = 0;
};
/// Nothing where the event is none of a simulated PMU.
[[nodiscard]] std::optional<Encoding> encode(const Machine& machine, const perf_event_attr& attr);

/// Rows whose counts add up: the one of this code, else those of its single unit-mask bits. A code that no
/// row describes counts nothing, as on hardware.
[[nodiscard]] std::vector<const Row*> rows_of(const Pmu& pmu, std::uint64_t config, std::uint64_t config1);

} // namespace recount::emulate
