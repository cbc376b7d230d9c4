#include "model/emulate/simulated_caches.hpp"

#include <memory>

namespace recount::emulate {
namespace {

using recount::model::Cause;

recount::model::MachineDescription description(const SimulatedMachine& machine, SimulatedCaches::Side side) {
  recount::model::MachineDescription description;
  description.name = machine.name;
  const std::string other = side == SimulatedCaches::Side::data ? "L1i" : "L1d";
  for (const CacheLevel& level : machine.caches)
    if (level.name != other) {
      recount::model::LevelDescription one;
      one.name = level.name;
      one.size = level.size;
      one.ways = level.ways;
      one.line = level.line;
      description.levels.push_back(one);
    }
  recount::model::TlbDescription tlb;
  const std::string unused = side == SimulatedCaches::Side::data ? "code" : "data";
  for (const TlbLevel& level : machine.tlbs)
    if (level.name != unused) tlb.levels.push_back({level.entries, level.ways});
  if (!tlb.levels.empty()) description.tlb = tlb;
  return description;
}

} // namespace

SimulatedCaches::SimulatedCaches(const SimulatedMachine& machine, Side side)
    : side_(side), caches_(description(machine, side)) {}

Work SimulatedCaches::work() {
  const auto counts = caches_.counts();
  caches_.reset_counters();
  Work work;
  const auto missed = [&](std::size_t level, Cause cause) {
    return level < counts.levels.size() ? static_cast<double>(counts.levels[level].missed(cause)) : 0.0;
  };
  const auto untranslated = [&](std::size_t level, Cause cause) {
    return level < counts.tlb.size() ? static_cast<double>(counts.tlb[level].missed(cause)) : 0.0;
  };
  const std::size_t last = counts.tlb.empty() ? 0 : counts.tlb.size() - 1;
  using enum Quantity;
  if (side_ == Side::code) {
    work[code_lines] = static_cast<double>(counts.levels[0].accessed(Cause::load));
    work[l1i_misses] = missed(0, Cause::load);
    work[l2_code_misses] = missed(1, Cause::load);
    work[l3_code_misses] = missed(2, Cause::load);
    work[itlb_misses] = untranslated(0, Cause::load);
    work[code_walks] = untranslated(last, Cause::load);
    return work;
  }
  constexpr Quantity misses[3][3] = {{l1d_load_misses, l1d_store_misses, l1d_walk_misses},
                                     {l2_load_misses, l2_store_misses, l2_walk_misses},
                                     {l3_load_misses, l3_store_misses, l3_walk_misses}};
  constexpr Cause by[] = {Cause::load, Cause::store, Cause::walk};
  for (std::size_t level = 0; level < 3; ++level)
    for (std::size_t cause = 0; cause < 3; ++cause)
      work[misses[level][cause]] = missed(level, by[cause]);
  work[prefetch_misses] = missed(0, Cause::prefetch);
  work[l1d_write_backs] = static_cast<double>(counts.levels[0].write_backs);
  work[l2_write_backs] = counts.levels.size() > 1 ? static_cast<double>(counts.levels[1].write_backs) : 0.0;
  work[dtlb_load_misses] = untranslated(0, Cause::load);
  work[dtlb_store_misses] = untranslated(0, Cause::store);
  work[load_walks] = untranslated(last, Cause::load);
  work[store_walks] = untranslated(last, Cause::store);
  return work;
}

SimulatedCaches& SimulatedCaches::of_thread(const SimulatedMachine& machine, Side side) {
  thread_local std::unique_ptr<SimulatedCaches> sides[2];
  auto& one = sides[static_cast<std::size_t>(side)];
  if (!one) one = std::make_unique<SimulatedCaches>(machine, side);
  return *one;
}

} // namespace recount::emulate
