#include "caches/measure/model.hpp"

#include "caches/infer/record.hpp"

#include <algorithm>

namespace recount::caches {

namespace {

/// One pass over fresh lines brings every policy but random to where it stays; small patterns get more.
constexpr std::int64_t small_visits = 4096;
constexpr std::uint64_t alignment = std::uint64_t{1} << 21;

std::int64_t demand_misses(const model::LevelCounts& c) {
  return c.missed(model::Cause::load) + c.missed(model::Cause::store);
}

} // namespace

Abilities model_abilities(const model::MachineDescription& machine, const std::string& witness,
                          std::int64_t most_bytes) {
  Abilities can;
  can.witness = witness;
  can.counted = machine.levels.size();
  can.exact = can.contiguous = true;
  can.most_bytes = most_bytes;
  if (machine.tlb) {
    can.counted_tlbs = machine.tlb->levels.size();
    can.page = machine.tlb->page;
  }
  return can;
}

ModelSampler::ModelSampler(const model::MachineDescription& machine, const std::string& witness,
                           std::int64_t most_bytes, std::function<void(const result::Observation&)> observed)
    : caches_(machine),
      must_clear_(std::ranges::any_of(machine.levels,
                                      [](const model::LevelDescription& level) {
                                        return level.policy != model::Policy::lru &&
                                               level.policy != model::Policy::fifo;
                                      })),
      abilities_(model_abilities(machine, witness, most_bytes)),
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
  Reading reading;
  const auto total = static_cast<double>(passes * pattern.visits());
  for (std::size_t level = 0; level < counts.levels.size(); ++level) {
    const std::int64_t misses = demand_misses(counts.levels[level]);
    reading.misses.emplace_back(static_cast<double>(misses) / total);
    report(pattern, passes, caches::miss_metric(level), misses);
  }
  for (std::size_t level = 0; level < counts.tlb.size(); ++level) {
    const std::int64_t misses = demand_misses(counts.tlb[level]);
    reading.translations.emplace_back(static_cast<double>(misses) / total);
    report(pattern, passes, caches::tlb_metric(level), misses);
  }
  return reading;
}

void ModelSampler::report(const kernel::Pattern& pattern, std::int64_t passes, const std::string& metric,
                          std::int64_t misses) const {
  if (!observed_) return;
  const auto point = kernel::to_point(pattern, passes);
  result::Observation o;
  o.kernel = point.kernel;
  o.params = point.params;
  o.witness = abilities_.witness;
  o.metric = metric;
  o.value = misses;
  o.accesses = passes * pattern.visits();
  observed_(o);
}

} // namespace recount::caches
