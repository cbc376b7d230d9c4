// Which events get counters, as Linux decides it for x86.
#pragma once

#include "emulate/machine.hpp"

#include <span>
#include <vector>

namespace recount::emulate {

/// An event as far as counters matter.
struct Demand {
  std::uint64_t general = 0;   ///< general counters that can count it
  std::vector<int> fixed = {}; ///< fixed ones
};

[[nodiscard]] Demand demand(const Pmu& pmu, std::uint64_t config, std::uint64_t config1);

/// Where fixed counters begin in counter numbers, as Linux numbers them (INTEL_PMC_IDX_FIXED).
inline constexpr int first_fixed = 32;

/// A counter for each, all at once; empty: there are not enough. `taken` are counters of others.
[[nodiscard]] std::vector<int> assign(const Pmu& pmu, std::span<const Demand> demands, std::uint64_t taken);
[[nodiscard]] std::uint64_t counter_bit(int counter);

} // namespace recount::emulate
