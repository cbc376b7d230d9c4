// recount caches: takes the readings that an inference requests, by any witness, and keeps them all.
#pragma once

#include "commands/caches/infer/findings.hpp"
#include "commands/caches/infer/sampler.hpp"
#include "kernel/kernel.hpp"
#include "model/hierarchy.hpp"
#include "run/result/observation.hpp"
#include "run/result/results_file.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
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

/// Called from the thread that called; any may be empty.
struct CachesListener {
  std::function<void(const result::Observation&)> observation;
  StageCallback stage;
  std::function<bool()> stop; ///< true: end; called often
};

/// Puts into a task what its witness can count on its CPU of the misses of L1, L2 ... up to the first that it
/// cannot, and of data TLBs. Presets come first, except where counts are exact: they may contain prefetches
/// and page walks, which exact counts never leave out. Else the events of data/misses.txt.
void choose_metrics(CachesTask& task);

/// The abilities of the task's witness, as in the record.
[[nodiscard]] Abilities caches_abilities(const CachesTask& task);

/// Simulates in this process, and hands every observation, with `run` as its run, to the listener. Throws
/// recount::Error (bad_input) for an unknown machine.
Caches model_caches(const CachesTask& task, const std::string& run, const CachesListener& listener);

/// Measures in a process of its own, `program`, which runs serve_caches(), pinned, where allowed without
/// randomised addresses, and hands every observation, with `run` as its run, to the listener. False: the
/// listener stopped it. Throws recount::Error (unavailable) when the process fails or takes longer than
/// `limit`.
bool take_readings(const CachesTask& task, const std::string& run, const CachesListener& listener,
                   const std::vector<std::string>& program = {"/proc/self/exe", "caches-worker"},
                   std::chrono::seconds limit = std::chrono::seconds(600));

/// The other end: reads a task from descriptor `in`, writes a line per observation and per stage to `out`.
/// Returns the exit status of the process. Throws recount::Error (bad_input) when there is no task.
int serve_caches(int in, int out);

/// The grid of sizes and strides of powers of two, kernels stride and chase, for a machine whose largest
/// private cache is about so large.
[[nodiscard]] std::vector<kernel::KernelPoint> grid_points(std::int64_t largest_cache, bool modelled);

/// Measures the grid in this process and hands the observations on.
void take_grid(const CachesTask& task, const std::vector<kernel::KernelPoint>& points,
               const std::function<void(const result::Observation&)>& observed);

// The model as a source of readings for the inference of caches.

/// Reads misses from the simulation of a described machine. Deterministic.
class ModelSampler : public Sampler {
public:
  /// `witness` as in results: "model", "model:i7-9700". `observed` is called with each observation (its run
  /// is left empty); may be absent. Throws recount::Error (bad_input) for a description that model::check()
  /// refuses.
  ModelSampler(const model::MachineDescription& machine, const Witness& witness, std::int64_t max_bytes,
               std::function<void(const result::Observation&)> observed = {});
  [[nodiscard]] const Abilities& abilities() const override { return abilities_; }
  std::vector<Reading> read(std::span<const kernel::Pattern> patterns) override;
  /// The abilities of such a sampler, without simulating.
  [[nodiscard]] static Abilities abilities_for(const model::MachineDescription& machine,
                                               const Witness& witness, std::int64_t max_bytes);

private:
  Reading read(const kernel::Pattern& pattern);

  model::Hierarchy caches_;
  std::uint64_t free_ = kernel::assumed_base; ///< nothing at or above it was ever visited
  bool must_clear_ = false;
  Abilities abilities_;
  std::function<void(const result::Observation&)> observed_;
};

} // namespace recount::caches
