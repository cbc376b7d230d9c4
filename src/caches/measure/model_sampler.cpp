#include "caches/measure/model_sampler.hpp"

#include "caches/infer/record_sampler.hpp"

#include <algorithm>

namespace recount::caches {

namespace {

/// One pass over fresh lines brings every policy but random to where it stays; small patterns get more.
constexpr std::int64_t small_visits = 4096;
constexpr std::uint64_t alignment = std::uint64_t{1} << 21;

} // namespace

Abilities ModelSampler::abilities_for(const model::MachineDescription& machine, const Witness& witness,
                                      std::int64_t most_bytes) {
  Abilities can;
  can.witness = witness;
  can.counted = machine.levels.size();
  can.exact = true;
  can.most_bytes = most_bytes;
  if (machine.tlb) {
    can.counted_tlbs = machine.tlb->levels.size();
    can.page = machine.tlb->page;
  }
  return can;
}

ModelSampler::ModelSampler(const model::MachineDescription& machine, const Witness& witness,
                           std::int64_t most_bytes, std::function<void(const result::Observation&)> observed)
    : caches_(machine),
      must_clear_(std::ranges::any_of(machine.levels,
                                      [](const model::LevelDescription& level) {
                                        return level.policy != model::Policy::lru &&
                                               level.policy != model::Policy::fifo;
                                      })),
      abilities_(abilities_for(machine, witness, most_bytes)),
      observed_(std::move(observed)) {}

std::vector<Reading> ModelSampler::read(std::span<const kernel::Pattern> patterns) {
  std::vector<Reading> all;
  for (const auto& pattern : patterns)
    all.push_back(read(pattern));
  return all;
}

Reading ModelSampler::read(const kernel::Pattern& pattern) {
  const auto places = kernel::places(pattern);
  const std::int64_t passes = pattern.visits() <= small_visits ? 2 : 1;
  // Where nothing has been visited yet, no line is cached from an earlier pattern. Emptying large caches
  // takes longer than most patterns, and old lines leave by themselves where the order of use or of arrival
  // decides.
  if (must_clear_ || free_ > std::uint64_t{1} << 58) {
    caches_.clear();
    free_ = kernel::assumed_base;
  }
  const std::uint64_t base = free_ + static_cast<std::uint64_t>(pattern.offset);
  free_ += (static_cast<std::uint64_t>(kernel::extent(pattern) + pattern.offset) + alignment - 1) /
           alignment * alignment;
  kernel::replay(places, base, passes, caches_);
  caches_.reset_counters();
  kernel::replay(places, base, passes, caches_);
  const model::Counts counts = caches_.counts();
  const std::int64_t accesses = passes * pattern.visits();
  const auto misses_per_access = [&](const model::LevelCounts& level, const std::string& metric) {
    const std::int64_t misses = level.missed(model::Cause::load) + level.missed(model::Cause::store);
    if (observed_) {
      result::Observation o = make_observation(pattern, passes, metric);
      o.witness = abilities_.witness;
      o.value = misses;
      o.accesses = accesses;
      observed_(o);
    }
    return static_cast<double>(misses) / static_cast<double>(accesses);
  };
  Reading reading;
  for (std::size_t level = 0; level < counts.levels.size(); ++level)
    reading.misses.emplace_back(misses_per_access(counts.levels[level], miss_metric(level)));
  for (std::size_t level = 0; level < counts.tlb.size(); ++level)
    reading.translations.emplace_back(misses_per_access(counts.tlb[level], tlb_metric(level)));
  return reading;
}

} // namespace recount::caches
