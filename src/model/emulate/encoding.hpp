// The encoding of an event, the rows of the event table that it counts, and its counter, as Linux decides
// them for x86.
#pragma once

#include "model/emulate/machine.hpp"

#include <linux/perf_event.h>
#include <optional>
#include <span>
#include <vector>

namespace recount::emulate {

/// A PMU (index in SimulatedMachine::pmus) and a configuration, or the errno that Linux gives.
struct Encoding {
  int pmu = -1;
  std::uint64_t config = 0, config1 = 0;
  int error = 0;
};
/// Empty: no simulated PMU has the event.
[[nodiscard]] std::optional<Encoding> encode(const SimulatedMachine& machine, const perf_event_attr& attr);

/// The rows whose counts are summed: that of exactly this code, else those of its single unit-mask bits.
/// Empty: the code counts 0, as on hardware.
[[nodiscard]] std::vector<const SimulatedEvent*> find_rows(const SimulatedPmu& pmu, std::uint64_t config,
                                                           std::uint64_t config1);

/// The counters that can count an event.
struct Demand {
  std::uint64_t general = 0;   ///< of general counters, a bit each
  std::vector<int> fixed = {}; ///< indices in SimulatedPmu::fixed
};

[[nodiscard]] Demand demand(const SimulatedPmu& pmu, std::uint64_t config, std::uint64_t config1);

/// Where fixed counters begin in counter numbers, as Linux numbers them (INTEL_PMC_IDX_FIXED).
inline constexpr int first_fixed = 32;

/// One counter per demand, all at the same time: 0 to general - 1, or first_fixed + i. Empty: there are not
/// enough. `taken`: counter_bit() of each counter in use.
[[nodiscard]] std::vector<int> assign(const SimulatedPmu& pmu, std::span<const Demand> demands,
                                      std::uint64_t taken);
/// The bit of a counter number.
[[nodiscard]] std::uint64_t counter_bit(int counter);

} // namespace recount::emulate
