// Simulation of a loop nest: completely, or in samples.
#pragma once

#include "model/hierarchy.hpp"
#include "model/nest.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace recount::model {

/// Simulates samples of a prepared nest, spread over its loops. Keeps a reference to the nest.
class SampledReplay {
public:
  SampledReplay(const Nest& nest, std::int64_t accesses) : nest_(nest), accesses_(accesses) {}

  /// Whether samples are fewer accesses than the nest makes.
  [[nodiscard]] static bool pays(std::int64_t accesses) { return accesses > max_windows * min_window; }
  /// Adds an estimate of what the nest counts; the contents of the caches are then those of the last sample.
  /// Sets Hierarchy::sampling.
  void run(Hierarchy& caches) const;

  /// Accesses of a sample: one iteration of a loop, or as many as make the least number.
  static constexpr std::int64_t min_window = 1 << 18;
  static constexpr std::int64_t max_warm_up = 4; ///< windows simulated before the counted one
  /// Windows simulated at most: a loop with fewer is simulated completely.
  static constexpr std::int64_t max_windows = (max_warm_up + 1) * std::int64_t{Sampling::samples};

private:
  const Nest& nest_;
  std::int64_t accesses_;
};

/// Simulates one nest, any number of times, for any machine. A complete simulation is exact: counts and state
/// are those of every access in order. It skips what cannot change either: iterations of an innermost loop
/// that can only hit, iterations that repeat a state, and the rest of a further run that meets a state of the
/// first one at the same place. Not thread-safe.
class NestSimulation {
public:
  NestSimulation(const Nest& nest, const MachineDescription& machine);
  NestSimulation(const NestSimulation&) = delete;
  NestSimulation& operator=(const NestSimulation&) = delete;

  /// Runs the nest once. Continues from the state of `caches`, always of the same machine, and adds to its
  /// counts.
  void run(Hierarchy& caches);

  /// Whether run() simulates samples: the machine is sampled, and samples are fewer accesses than the nest.
  [[nodiscard]] bool sampled() const { return sampled_; }

private:
  struct Checkpoint { ///< state of the first run after some iterations of an outermost loop
    std::size_t node = 0;
    std::int64_t trips = 0;
    Hierarchy::State state;
    Counts counts;
  };
  void run_completely(Hierarchy& caches);
  bool continues_as_first(std::size_t node, std::int64_t trips, Hierarchy& caches);

  Nest nest_;
  std::int64_t accesses_;
  bool sampled_;
  std::vector<Checkpoint> checkpoints_;
  std::optional<Hierarchy> end_; ///< state at the end of the first run
};

/// Simulates a nest once.
void simulate_nest(const Nest& nest, Hierarchy& caches);
/// Simulates a nest twice, and counts the second run alone; samples have their own warm-up.
void simulate_nest_warm(const Nest& nest, Hierarchy& caches);

} // namespace recount::model
