// The clock and the counters as sources of readings: patterns laid out in memory and visited.
#pragma once

#include "caches/infer/sampler.hpp"
#include "kernel/memory.hpp"
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
  std::chrono::milliseconds cpu_limit, elapsed_limit; ///< then nothing more is measured
  /// Called with each observation as it is made (its run is left empty).
  std::function<void(const result::Observation&)> observed;
};

/// Visits patterns in memory of its own: every pattern once a round, in a new random order each round, so
/// that a burst of noise cannot spoil one of them, and with the clock rate of the core measured with each
/// time. Measures with the calling thread, which should be pinned.
class NativeSampler : public Sampler {
public:
  explicit NativeSampler(NativeOptions options);
  [[nodiscard]] const Abilities& abilities() const override { return abilities_; }
  /// Throws recount::Error when the memory cannot be had.
  std::vector<Reading> read(std::span<const kernel::Pattern> patterns) override;
  double quick_time(std::span<const std::uint64_t> places, bool quickly) override;
  PageColours keep(const PageColours& colours) override;
  std::optional<PageColours> colours() override { return search_again_ ? std::nullopt : colours_; }
  [[nodiscard]] std::uint64_t searches() const override { return searches_; }
  [[nodiscard]] std::optional<HugePages> huge_pages() const override;
  [[nodiscard]] bool out_of_time() const override;
  /// The abilities of such a sampler.
  [[nodiscard]] static Abilities abilities_for(const Witness& witness, std::size_t metrics,
                                               std::int64_t most_bytes);

  /// From now on patterns that fit private caches are measured anew when they are first requested again: more
  /// rounds in addition to those taken.
  void repeat_measurements() { ++look_; }
  /// The page colours are searched for once more; the better result of the searches is kept.
  void search_again() { search_again_ = true; }
  /// Makes observations of the page colours.
  void record_colours() const;
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
  kernel::Memory& memory_for(bool huge, std::int64_t extent);
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
  double base_ = 0; ///< the reference of the first time, seconds
  int look_ = 0;
  bool search_again_ = false;
  std::uint64_t searches_ = 0, measured_ = 0;
  std::map<kernel::Pattern, Taken> taken_;
  std::optional<PageColours> colours_;
};

} // namespace recount::caches
