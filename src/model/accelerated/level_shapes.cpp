#include "model/accelerated/level_shapes.hpp"

#include "model/hierarchy.hpp"

namespace recount::model {

namespace {

/// Whether from level `at` on every set asks sets that nobody else asks, down to memory.
bool apart(const MachineDescription& machine, std::size_t at) {
  for (; at + 1 < machine.levels.size(); ++at) {
    const LevelDescription &level = machine.levels[at], &next = machine.levels[at + 1];
    if (next.line != level.line || next.sets() % level.sets() != 0 || !level.index.empty() ||
        !next.index.empty())
      return false;
  }
  return true;
}

LevelShape cache_shape(const MachineDescription& machine, std::size_t at) {
  const LevelDescription& level = machine.levels[at];
  LevelShape shape;
  shape.rules = {static_cast<std::uint64_t>(level.ways), level.policy, level.write, level.allocate,
                 log2_of(level.line)};
  shape.apart = apart(machine, at);
  shape.index = index_of(level);
  shape.order_shift = 2 * (TraceTime::levels - 1 - static_cast<unsigned>(at));
  if (at + 1 < machine.levels.size()) {
    const LevelDescription& next = machine.levels[at + 1];
    shape.below = {false, false, index_of(next), 0, 0, log2_of(next.line) - log2_of(level.line)};
  }
  return shape;
}

LevelShape tlb_shape(const MachineDescription& machine, std::size_t at) {
  const TlbLevel& level = machine.tlb->levels[at];
  LevelShape shape;
  shape.rules = {static_cast<std::uint64_t>(level.ways), level.policy, Write::back, true, 0};
  shape.index = index_of(level);
  const LevelDescription& first = machine.levels.front();
  if (at + 1 < machine.tlb->levels.size())
    shape.below = {false, false, index_of(machine.tlb->levels[at + 1]), 0, 0, 0};
  else
    shape.below = {false,
                   true,
                   index_of(first),
                   static_cast<std::int64_t>(Hierarchy::page_table),
                   3,
                   log2_of(first.line)};
  return shape;
}

} // namespace

std::vector<LevelShape> level_shapes(const MachineDescription& machine) {
  std::vector<LevelShape> shapes;
  for (std::size_t at = 0; machine.tlb && at < machine.tlb->levels.size(); ++at)
    shapes.push_back(tlb_shape(machine, at));
  for (std::size_t at = 0; at < machine.levels.size(); ++at)
    shapes.push_back(cache_shape(machine, at));
  return shapes;
}

} // namespace recount::model
