// Counters or the clock of an emulated machine as a source of readings: without noise, and addresses choose
// the sets.
#pragma once

#include "commands/caches/infer/sampler.hpp"
#include "commands/caches/measure/study.hpp"
#include "kernel/kernel.hpp"
#include "run/witness/both.hpp"
#include "run/witness/metric_events.hpp"

#include <recount/group.hpp>
#include <recount/papi.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace recount::caches {

/// Memory of which only the pages that are written exist.
class SparseMemory {
public:
  SparseMemory() = default;
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;
  ~SparseMemory() { release(); }
  /// At least so many bytes, of which nothing was written before. Throws recount::Error (unavailable).
  std::byte* fresh(std::int64_t bytes);

private:
  void release();
  void* start_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Visits patterns in memory of its own, and counts; times them if the task has no metrics, by the clock of
/// the thread: that of the machine goes on while other processes execute. What counting and reading a clock
/// evict is missed in the first pass over a pattern: a reading is the difference of two executions, before
/// which the same happens.
class ExactSampler : public Sampler {
public:
  ExactSampler(CachesTask task, Observer observed);
  [[nodiscard]] const Abilities& abilities() const override { return abilities_; }

private:
  using Counted = std::optional<std::int64_t>;

  Reading read_one(const kernel::Pattern& pattern) override;
  void time(Reading& reading, const kernel::Pattern& pattern, void* start);
  void count(Reading& reading, const kernel::Pattern& pattern, void* start);
  /// What so many passes of a pattern add, for each metric of a set.
  std::vector<Counted> added(std::size_t set, void* start, std::int64_t visits, std::int64_t passes);
  std::vector<Counted> counted(std::size_t set, void* start, std::int64_t steps);

  CachesTask task_;
  std::vector<std::string> metrics_; ///< of levels, then of TLBs
  Abilities abilities_;
  Observer observed_;
  std::vector<witness::MetricEvents> requested_;
  std::vector<witness::Set> sets_;
  struct Counting { ///< of a set: by perf or by PAPI
    std::optional<Counters> perf;
    std::optional<PapiSet> papi;
  };
  std::vector<Counting> counting_;
  SparseMemory memory_;
};

} // namespace recount::caches
