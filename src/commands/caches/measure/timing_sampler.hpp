// The clock of an emulated machine as a source of readings: without noise, and addresses choose the sets.
#pragma once

#include "commands/caches/infer/sampler.hpp"
#include "commands/caches/measure/counting_sampler.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace recount::caches {

/// Visits patterns in memory of its own, and times them once, by the clock of the thread: that of the machine
/// goes on while other processes execute. What reading a clock takes and evicts is in both of the executions
/// whose difference is the reading.
class TimingSampler : public Sampler {
public:
  TimingSampler(Abilities abilities, std::function<void(const result::Observation&)> observed)
      : abilities_(std::move(abilities)), observed_(std::move(observed)) {}
  [[nodiscard]] const Abilities& abilities() const override { return abilities_; }
  std::vector<Reading> read(std::span<const kernel::Pattern> patterns) override;

private:
  Reading read(const kernel::Pattern& pattern);

  Abilities abilities_;
  std::function<void(const result::Observation&)> observed_;
  SparseMemory memory_;
};

} // namespace recount::caches
