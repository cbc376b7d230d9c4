// What a core has for its instructions: a first-level cache and a TLB.
#pragma once

#include "model/level.hpp"

#include <cstdint>
#include <vector>

namespace recount::model {

/// Lines and pages of instructions. What it counts is under Cause::fetch. Not thread-safe.
struct Instructions {
  /// `seed`: of the cache; the TLB levels have the next ones.
  Instructions(const InstructionDescription& description, std::uint64_t seed);

  void reset_counters();
  void clear();
  void save(std::vector<std::uint64_t>& words) const;

  Level cache;
  std::vector<Level> tlb; ///< as InstructionDescription::tlb; unused where that is shared
};

} // namespace recount::model
