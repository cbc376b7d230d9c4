// From an event's attributes to the rows of the event table that it counts, and to a counter, as Linux
// decides it for x86.
#pragma once

#include "model/emulate/machine.hpp"

#include <linux/perf_event.h>
#include <optional>
#include <span>
#include <vector>

namespace recount::emulate {

/// Which PMU and which configuration; an errno where Linux gives one.
struct Encoding {
  int pmu = -1;
  std::uint64_t config = 0, config1 = 0;
  int error = 0;
};
/// Nothing where the event is none of a simulated PMU.
[[nodiscard]] std::optional<Encoding> encode(const SimulatedMachine& machine, const perf_event_attr& attr);

/// Rows whose counts add up: the one of this code, else those of its single unit-mask bits. A code that no
/// row describes counts nothing, as on hardware.
[[nodiscard]] std::vector<const SimulatedEvent*> find_rows(const SimulatedPmu& pmu, std::uint64_t config,
                                                           std::uint64_t config1);

/// An event as far as counters matter.
struct Demand {
  std::uint64_t general = 0;   ///< general counters that can count it
  std::vector<int> fixed = {}; ///< fixed ones
};

[[nodiscard]] Demand demand(const SimulatedPmu& pmu, std::uint64_t config, std::uint64_t config1);

/// Where fixed counters begin in counter numbers, as Linux numbers them (INTEL_PMC_IDX_FIXED).
inline constexpr int first_fixed = 32;

/// A counter for each, all at once; empty: there are not enough. `taken` are counters of others.
[[nodiscard]] std::vector<int> assign(const SimulatedPmu& pmu, std::span<const Demand> demands,
                                      std::uint64_t taken);
[[nodiscard]] std::uint64_t counter_bit(int counter);

} // namespace recount::emulate
