#include "study/caches_model.hpp"

#include <algorithm>

namespace recount::study {

namespace {

/// One pass over fresh lines brings every policy but random to where it stays; small patterns get more.
constexpr std::int64_t small_visits = 4096;
constexpr std::uint64_t alignment = std::uint64_t{1} << 21;

std::int64_t demand_misses(const model::LevelCounts& c) {
  return c.missed(model::Cause::load) + c.missed(model::Cause::store);
}

} // namespace

ModelSampler::ModelSampler(const model::MachineDescription& machine, const std::string& witness,
                           std::int64_t most_bytes)
    : caches_(machine) {
  must_clear_ = std::ranges::any_of(machine.levels, [](const model::LevelDescription& level) {
    return level.policy == model::Policy::plru || level.policy == model::Policy::random;
  });
  abilities_.witness = witness;
  abilities_.counted = machine.levels.size();
  abilities_.exact = abilities_.contiguous = true;
  abilities_.most_bytes = most_bytes;
  if (!machine.tlb) return;
  abilities_.counted_tlbs = machine.tlb->levels.size();
  abilities_.page = machine.tlb->page;
}

std::vector<analysis::Reading> ModelSampler::read(std::span<const kernel::Pattern> patterns) {
  std::vector<analysis::Reading> all;
  for (const auto& pattern : patterns)
    all.push_back(read(pattern));
  return all;
}

analysis::Reading ModelSampler::read(const kernel::Pattern& pattern) {
  const auto places = kernel::places(pattern);
  const std::int64_t passes = pattern.visits() <= small_visits ? 2 : 1;
  // Where nothing has been visited yet, no line is at hand from an earlier pattern. Emptying large caches
  // takes longer than most patterns, and old lines leave by themselves where the order of use or of arrival
  // decides.
  const auto extent = static_cast<std::uint64_t>(kernel::extent(pattern));
  if (must_clear_ || free_ > std::uint64_t{1} << 58) {
    caches_.clear();
    free_ = kernel::assumed_base;
  }
  const std::uint64_t base = free_ + static_cast<std::uint64_t>(pattern.offset);
  free_ += (extent + static_cast<std::uint64_t>(pattern.offset) + alignment - 1) / alignment * alignment;
  kernel::replay(places, base, passes, caches_);
  caches_.reset_counters();
  kernel::replay(places, base, passes, caches_);
  const model::Counts counts = caches_.counts();
  const auto per_visit = [&](std::int64_t n) {
    return static_cast<double>(n) / static_cast<double>(passes * pattern.visits());
  };
  analysis::Reading reading;
  for (const auto& level : counts.levels)
    reading.misses.emplace_back(per_visit(demand_misses(level)));
  for (const auto& tlb : counts.tlb)
    reading.translations.emplace_back(per_visit(demand_misses(tlb)));
  return reading;
}

} // namespace recount::study
