// The clock and the counters as sources of readings: patterns laid out in memory and visited.
#pragma once

#include "analysis/caches_sampler.hpp"
#include "kernel/memory.hpp"
#include "result/observation.hpp"

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace recount::study {

/// How a NativeSampler measures.
struct NativeOptions {
  std::string witness = "clock";    ///< "clock", "perf" or "papi"; with the last two, time is taken as well
  std::vector<std::string> metrics; ///< misses of each level, from the core outwards; none for the clock
  std::int64_t most_bytes = 0;      ///< largest extent of a pattern
  std::uint64_t seed = 1;           ///< of the order of measuring
  /// Called with each observation as it is made (its run is left empty); may be absent.
  std::function<void(const result::Observation&)> observed;
};

/// What such a sampler will be able to tell, without making one.
[[nodiscard]] analysis::Abilities native_abilities(const NativeOptions& options);

/// Visits patterns in memory of its own: every pattern once a round, in a new random order each round, so
/// that a burst of noise cannot spoil one of them. Measures with the calling thread, which should be pinned.
class NativeSampler : public analysis::Sampler {
public:
  /// Throws recount::Error when the memory cannot be had.
  explicit NativeSampler(NativeOptions options);
  ~NativeSampler() override;
  [[nodiscard]] const analysis::Abilities& abilities() const override { return abilities_; }
  std::vector<analysis::Reading> read(std::span<const kernel::Pattern> patterns) override;
  /// A quick look at the time alone, ns a visit, for searches of thousands of steps; not an observation.
  double glance(std::span<const std::uint64_t> places) override;
  void keep(const analysis::PageColours& colours) override;
  [[nodiscard]] std::optional<analysis::HugePages> huge_pages() const override;

private:
  struct Laid;
  struct Room {
    std::unique_ptr<kernel::Memory> memory;
    std::int64_t bytes = 0, granted = 0; ///< in large pages
  };
  kernel::Memory& memory_for(const kernel::Pattern& pattern, std::int64_t extent);
  void measure(Laid& laid, int round);
  void time(Laid& laid, int round, void* start);
  void count(Laid& laid, int round, void* start);

  NativeOptions options_;
  analysis::Abilities abilities_;
  Room small_, huge_;
  std::mt19937_64 random_;
  std::int64_t own_ns_;
};

} // namespace recount::study
