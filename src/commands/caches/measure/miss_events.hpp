// Events of demand misses by CPU (data/misses.txt), for counting where a preset is missing or counts more.
#pragma once

#include "base/host/cpu.hpp"
#include "commands/caches/infer/sampler.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::caches {

/// A row of data/misses.txt.
struct MissEvents {
  std::string pmu; ///< in sysfs
  /// By level from the core outwards; absent: no event counts it.
  std::vector<std::optional<CountedMiss>> levels, tlbs;
};

/// The rows of a CPU in the format that data/misses.txt explains. Pure.
[[nodiscard]] std::vector<MissEvents> parse_miss_events(std::string_view text, const host::Cpu& cpu);
/// Those built in, of a CPU.
[[nodiscard]] std::vector<MissEvents> miss_events(const host::Cpu& cpu);

} // namespace recount::caches
