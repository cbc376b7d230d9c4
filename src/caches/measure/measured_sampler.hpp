// The clock and the counters as sources of readings: patterns laid out in memory and visited.
#pragma once

#include "caches/infer/sampler.hpp"
#include "kernel/kernel.hpp"
#include "kernel/memory.hpp"
#include "model/hierarchy.hpp"
#include "result/observation.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace recount::caches {

/// How a NativeSampler measures.
struct NativeOptions {
  Witness witness = Witness::clock; ///< "clock", "perf" or "papi"; with the last two, time is taken as well
  std::vector<std::string> metrics; ///< misses of each level, from the core outwards; none for the clock
  std::int64_t most_bytes = 0;      ///< largest extent of a pattern
  std::uint64_t seed = 1;           ///< of the order of measuring
  /// Of CPU time and of elapsed time; then nothing more is measured.
  std::chrono::milliseconds limit = std::chrono::minutes(10), elapsed_limit = std::chrono::minutes(60);
  /// Called with each observation as it is made (its run is left empty); may be absent.
  std::function<void(const result::Observation&)> observed;
};

/// What such a sampler will be able to tell, without making one.
[[nodiscard]] Abilities native_abilities(const NativeOptions& options);

/// Visits patterns in memory of its own: every pattern once a round, in a new random order each round, so
/// that a burst of noise cannot spoil one of them, and with the clock rate of the core taken beside each
/// time. Measures with the calling thread, which should be pinned.
class NativeSampler : public Sampler {
public:
  /// Throws recount::Error when the memory cannot be had.
  explicit NativeSampler(NativeOptions options);
  ~NativeSampler() override;
  [[nodiscard]] const Abilities& abilities() const override { return abilities_; }
  std::vector<Reading> read(std::span<const kernel::Pattern> patterns) override;
  /// A quick look at the time alone, ns a visit, for searches of thousands of steps; not an observation.
  double quick_time(std::span<const std::uint64_t> places, bool quickly) override;
  void keep(const PageColours& colours) override;
  [[nodiscard]] std::optional<HugePages> huge_pages() const override;
  [[nodiscard]] bool out_of_time() const override;
  std::optional<PageColours> colours() override { return search_again_ ? std::nullopt : colours_; }
  [[nodiscard]] std::uint64_t searches() const override { return searches_; }

  /// From now on patterns that fit private caches are measured anew when they are first asked for again: more
  /// rounds beside those taken.
  void repeat_measurements();
  /// The page colours are searched for once more; the better result of the searches is kept.
  void search_again() { search_again_ = true; }
  /// From now on nothing is measured again, and nothing is searched: what is on record counts. The page
  /// colours are put on it.
  void keep_to_record();
  /// Of the thread since it was made: what others take of its CPU does not count.
  [[nodiscard]] std::chrono::milliseconds cpu_time() const;
  [[nodiscard]] std::chrono::milliseconds elapsed() const;
  /// Patterns measured and searches made so far.
  [[nodiscard]] std::uint64_t measured() const { return measured_; }

private:
  struct Laid;
  struct Taken {
    TimedRounds times;                       ///< at one clock rate
    std::vector<std::vector<double>> misses; ///< of a level, a round, per visit
    int rounds = 0, look = 0;                ///< so far; in which look the last ones
    std::string why;                         ///< there is nothing
  };
  struct Mapping {
    std::unique_ptr<kernel::Memory> memory;
    std::int64_t bytes = 0, granted = 0; ///< in large pages
  };
  kernel::Memory& memory_for(const kernel::Pattern& pattern, std::int64_t extent);
  [[nodiscard]] bool wanted(const kernel::Pattern& pattern) const;
  void refuse(const kernel::Pattern& pattern);
  void measure_all(std::span<const kernel::Pattern> patterns);
  void measure(Laid& laid, int round);
  void time(Laid& laid, int round, void* start);
  void count(Laid& laid, int round, void* start);

  NativeOptions options_;
  Abilities abilities_;
  Mapping small_, huge_;
  std::mt19937_64 random_;
  std::chrono::nanoseconds begin_; ///< CPU time of the thread
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  double base_ = 0; ///< the reference beside the first time, seconds
  int look_ = 0;
  bool settled_ = false, search_again_ = false;
  std::uint64_t searches_ = 0, measured_ = 0;
  std::map<kernel::Pattern, Taken> taken_;
  std::optional<PageColours> colours_;
};

// The model as a source of readings for the inference of caches.

/// What the simulation of a machine can tell, without simulating.
[[nodiscard]] Abilities model_abilities(const model::MachineDescription& machine, const Witness& witness,
                                        std::int64_t most_bytes);

/// Reads misses off the simulation of a described machine. Deterministic.
class ModelSampler : public Sampler {
public:
  /// `witness` as it stands in results: "model", "model:i7-9700". Throws recount::Error (bad_input) for a
  /// description that model::check() refuses.
  /// `observed` is called with each observation (its run is left empty); may be absent.
  ModelSampler(const model::MachineDescription& machine, const Witness& witness, std::int64_t most_bytes,
               std::function<void(const result::Observation&)> observed = {});
  [[nodiscard]] const Abilities& abilities() const override { return abilities_; }
  std::vector<Reading> read(std::span<const kernel::Pattern> patterns) override;

private:
  Reading read(const kernel::Pattern& pattern);
  model::Hierarchy caches_;
  std::uint64_t free_ = kernel::assumed_base; ///< nothing at or above it was ever visited
  bool must_clear_ = false;
  void report(const kernel::Pattern& pattern, std::int64_t passes, const std::string& metric,
              std::int64_t misses) const;
  Abilities abilities_;
  std::function<void(const result::Observation&)> observed_;
};

} // namespace recount::caches
