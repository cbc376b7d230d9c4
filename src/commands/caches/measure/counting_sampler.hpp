// Counters of an emulated machine as a source of readings: without noise, and addresses choose the sets.
#pragma once

#include "commands/caches/infer/sampler.hpp"
#include "commands/caches/measure/study.hpp"
#include "kernel/kernel.hpp"
#include "kernel/native.hpp"
#include "run/witness/both.hpp"
#include "run/witness/metric_events.hpp"

#include <recount/group.hpp>
#include <recount/papi.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace recount::caches {

/// What is laid out, as an instance that witnesses can observe.
class LaidInstance : public kernel::Instance {
public:
  LaidInstance(void* start, std::int64_t steps) : context_{start, steps, nullptr} {}
  kernel::Region region() override { return {kernel::native::recount_kernel_chase, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return context_.steps; }

private:
  kernel::native::Chase context_;
};

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

/// Visits patterns in memory of its own, and counts. What counting itself evicts is missed in the first pass
/// over a pattern: the others are counted as the difference of two executions, before which the same happens.
class CountingSampler : public Sampler {
public:
  CountingSampler(CachesTask task, std::function<void(const result::Observation&)> observed);
  [[nodiscard]] const Abilities& abilities() const override { return abilities_; }
  std::vector<Reading> read(std::span<const kernel::Pattern> patterns) override;

private:
  using Counted = std::optional<std::int64_t>;

  Reading read(const kernel::Pattern& pattern);
  /// What so many passes of a pattern add, for each metric of a set.
  std::vector<Counted> added(std::size_t set, void* start, std::int64_t visits, std::int64_t passes);
  std::vector<Counted> count(std::size_t set, void* start, std::int64_t steps);

  CachesTask task_;
  std::vector<std::string> metrics_; ///< of levels, then of TLBs
  Abilities abilities_;
  std::function<void(const result::Observation&)> observed_;
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
