// What CPUID answers on a simulated machine, where this differs from the processor at hand.
#pragma once

#include "model/emulate/machine.hpp"

#include <array>
#include <optional>
#include <vector>

namespace recount::emulate {

struct CpuidLeaf {
  unsigned leaf = 0;
  std::optional<unsigned> part = {};                  ///< input ECX; nothing: any
  std::array<std::optional<unsigned>, 4> values = {}; ///< EAX, EBX, ECX, EDX; nothing: as the processor says
};

/// Vendor, signature, name, counters and caches (Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E). Of
/// several that fit, the first one answers. Pure.
[[nodiscard]] std::vector<CpuidLeaf> cpuid_leaves(const SimulatedMachine& machine);

} // namespace recount::emulate
