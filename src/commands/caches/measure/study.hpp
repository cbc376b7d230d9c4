// recount caches: takes the readings that an inference requests, by any witness, and keeps them all.
#pragma once

#include "base/host/cpu.hpp"
#include "commands/caches/infer/findings.hpp"
#include "commands/caches/infer/sampler.hpp"
#include "kernel/kernel.hpp"
#include "run/result/observation.hpp"
#include "run/result/results_file.hpp"
#include "run/witness/both.hpp"
#include "run/witness/metric_events.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <recount/group.hpp>
#include <recount/papi.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace recount::caches {

/// What is to be measured.
struct CachesTask {
  Witness witness = Witness::clock;
  std::vector<CountedMiss>
      metrics;                ///< misses of each level, of those that the witness counts; see miss_metrics()
  std::int64_t max_bytes = 0; ///< largest working set
  std::uint64_t seed = 1;
  bool patient = false; ///< measures until every property is decided, or for two minutes
  bool grid = false;    ///< also the grid of sizes and strides of powers of two, kernels stride and chase
  std::optional<int> cpu = {};               ///< pinned to it
  std::vector<CountedMiss> tlb_metrics = {}; ///< misses of each data TLB
};

using Observer = std::function<void(const result::Observation&)>;

/// Puts into a task what its witness can count on its CPU of the misses of L1, L2 ... up to the first that it
/// cannot, and of data TLBs. Presets come first, except where counts are exact: they may contain prefetches
/// and page walks, which exact counts never leave out. Else the events of data/misses.txt.
void choose_metrics(CachesTask& task);

/// The abilities of the task's witness, as in the record.
[[nodiscard]] Abilities caches_abilities(const CachesTask& task);

/// Measures in a process of its own, which runs serve_caches(), pinned, where allowed without randomised
/// addresses, and hands on every observation (its run is left empty). False: a signal stopped it. Throws
/// recount::Error (unavailable) when the process fails or takes longer than ten minutes.
bool take_readings(const CachesTask& task, const StageCallback& stage, const Observer& observed);

/// The other end: reads a task from descriptor `in`, writes a line per observation and per stage to `out`.
/// Returns the exit status of the process. Throws recount::Error (bad_input) when there is no task.
int serve_caches(int in, int out);

/// A row of data/misses.txt: events of demand misses, for counting where a preset is missing or counts more.
struct MissEvents {
  std::string pmu; ///< in sysfs
  /// By level from the core outwards; absent: no event counts it.
  std::vector<std::optional<CountedMiss>> levels, tlbs;
};

/// The rows of a CPU: of those built in, or of `text` in the format that data/misses.txt explains. Pure.
[[nodiscard]] std::vector<MissEvents> miss_events(const host::Cpu& cpu, std::string_view text = {});

// Counters or the clock of an emulated machine as a source of readings: without noise, and addresses choose
// the sets.

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
