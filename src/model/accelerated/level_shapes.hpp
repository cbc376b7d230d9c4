// The levels of a machine, as they are simulated set by set.
#pragma once

#include "model/accelerated/level_simulator.hpp"
#include "model/machine.hpp"

#include <bit>
#include <cstdint>
#include <vector>

namespace recount::model {

inline unsigned log2_of(std::int64_t n) {
  return static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(n)));
}

/// Of a LevelDescription or a TlbLevel.
inline SetIndex index_of(const auto& level) {
  return SetIndex(static_cast<std::uint64_t>(level.sets()), level.index);
}

/// TLB levels first, as their walks access the caches.
[[nodiscard]] std::vector<LevelShape> level_shapes(const MachineDescription& machine);

} // namespace recount::model
