// Exact misses of a described machine as a source of readings: as an emulated machine gives them.
#pragma once

#include "commands/caches/infer/findings.hpp"
#include "commands/caches/infer/sampler.hpp"
#include "kernel/kernel.hpp"
#include "kernel/loops/pattern.hpp"
#include "model/hierarchy.hpp"
#include "model/machine.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

/// Reads misses from the simulation of a described machine. Deterministic.
class ModelSampler : public recount::caches::Sampler {
public:
  using Observer = std::function<void(const recount::result::Observation&)>;
  /// `observed` is called with each observation (its run is left empty); may be absent.
  ModelSampler(const recount::model::MachineDescription& machine, std::int64_t max_bytes,
               Observer observed = {})
      : caches_(machine), observed_(std::move(observed)) {
    // Where the order of use or of arrival decides, old lines leave by themselves.
    must_clear_ = std::ranges::any_of(machine.levels, [](const auto& level) {
      return level.policy != recount::model::Policy::lru && level.policy != recount::model::Policy::fifo;
    });
    can_.witness = recount::Witness::papi;
    can_.counted = machine.levels.size();
    can_.counted_tlbs = machine.tlb ? machine.tlb->levels.size() : 0;
    can_.exact = true;
    can_.page = machine.tlb ? machine.tlb->page : 4096;
    can_.max_bytes = max_bytes;
  }
  [[nodiscard]] const recount::caches::Abilities& abilities() const override { return can_; }

private:
  recount::caches::Reading read_one(const recount::kernel::Pattern& pattern) override {
    namespace kernel = recount::kernel;
    // One pass over fresh lines brings every policy but random to where it stays; small patterns get more.
    const std::int64_t passes = pattern.visits() <= 4096 ? 2 : 1;
    // Where nothing has been visited yet, no line is cached from an earlier pattern. Emptying large caches
    // takes longer than most patterns.
    if (must_clear_ || free_ > std::uint64_t{1} << 58) {
      caches_.clear();
      free_ = kernel::assumed_base;
    }
    constexpr std::uint64_t alignment = std::uint64_t{1} << 21;
    const std::uint64_t base = free_ + static_cast<std::uint64_t>(pattern.offset);
    free_ += (static_cast<std::uint64_t>(kernel::extent(pattern) + pattern.offset) + alignment - 1) /
             alignment * alignment;
    const auto places = kernel::places(pattern);
    kernel::replay(places, base, passes, caches_);
    caches_.reset_counters();
    kernel::replay(places, base, passes, caches_);
    const auto misses = [&](const recount::model::LevelCounts& level, const std::string& metric) {
      auto o = recount::caches::make_observation(pattern, passes, metric);
      const std::int64_t missed =
          level.missed(recount::model::Cause::load) + level.missed(recount::model::Cause::store);
      o.witness = can_.witness;
      o.value = missed;
      o.accesses = passes * pattern.visits();
      if (observed_) observed_(o);
      return static_cast<double>(missed) / static_cast<double>(*o.accesses);
    };
    const recount::model::Counts counts = caches_.counts();
    recount::caches::Reading reading;
    for (std::size_t level = 0; level < counts.levels.size(); ++level)
      reading.misses.emplace_back(misses(counts.levels[level], recount::caches::miss_metric(level)));
    for (std::size_t level = 0; level < counts.tlb.size(); ++level)
      reading.translations.emplace_back(misses(counts.tlb[level], recount::caches::tlb_metric(level)));
    return reading;
  }

  recount::model::Hierarchy caches_;
  std::uint64_t free_ = recount::kernel::assumed_base; ///< nothing at or above it was ever visited
  bool must_clear_ = false;
  recount::caches::Abilities can_;
  Observer observed_;
};

/// Adds what recount caches records of a described machine.
inline void record_model(recount::result::Results& results, recount::result::Run& run,
                         const std::string& machine) {
  ModelSampler sampler(recount::model::machine(machine), 8 << 20, [&](recount::result::Observation o) {
    o.run = run.id;
    results.observations.push_back(o);
  });
  run.plan = recount::caches::record_plan(sampler.abilities());
  static_cast<void>(recount::caches::infer_caches(sampler));
}
