#include "trace/miss_kinds.hpp"

#include <algorithm>
#include <bit>

namespace recount::trace {
namespace {

model::MachineDescription first_level_full(const model::MachineDescription& machine) {
  model::MachineDescription full;
  full.name = machine.name;
  model::LevelDescription level = machine.levels.front();
  level.ways = level.size / level.line;
  level.policy = model::Policy::lru;
  level.index.clear();
  level.prefetch.clear();
  level.inclusion = model::Inclusion::non_inclusive;
  full.levels.push_back(level);
  return full;
}

} // namespace

MissKinds::MissKinds(const model::MachineDescription& machine)
    : full_(first_level_full(machine)),
      shift_(
          static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(machine.levels.front().line)))) {}

bool MissKinds::is_new(std::uint64_t line) {
  constexpr unsigned lines = 64;
  std::uint64_t& known = missed_[line / lines];
  const std::uint64_t bit = std::uint64_t{1} << line % lines;
  const bool is = (known & bit) == 0;
  known |= bit;
  return is;
}

// An access over a line end may have several misses: the new lines are among them.
void MissKinds::classify(std::uint64_t address, unsigned bytes, std::int64_t misses) {
  std::int64_t compulsory = 0;
  for (std::uint64_t line = address >> shift_; line <= (address + bytes - 1) >> shift_; ++line)
    compulsory += is_new(line) ? 1 : 0;
  compulsory = std::min(compulsory, misses);
  const std::int64_t full = full_.first_misses() - full_misses_;
  const std::int64_t capacity = std::clamp<std::int64_t>(full - compulsory, 0, misses - compulsory);
  counts_[0] += compulsory;
  counts_[1] += capacity;
  counts_[2] += misses - compulsory - capacity;
}

} // namespace recount::trace
