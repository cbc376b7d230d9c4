// Sampled simulation of loop nests, with its error.
#pragma once

#include "model/counts.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace recount::model {

class Hierarchy;
struct Nest;

/// A simulation of parts of a loop nest. Each sample is simulated from empty caches, warmed up, and
/// extrapolated to the whole nest by the number of accesses.
struct Sampling {
  static constexpr std::size_t samples = 6;
  /// Student's t for a two-sided 95 % interval and `samples` - 1 degrees of freedom.
  static constexpr double t = 2.571;

  std::int64_t accesses = 0, counted = 0; ///< loads and stores of the nest, and those in samples
  std::vector<Counts> estimates = {};     ///< of the whole nest, by each sample
  /// Of each TLB level and then of each cache level: the number of places, whose contents before the nest are
  /// not simulated, plus the misses that filled an empty place, extrapolated. Such a line might have been
  /// there after a longer warm-up. Where a set of an LRU level is full, its contents do not depend on what
  /// came before.
  std::vector<double> unsettled = {};
  /// Share of the loop turns that have fewer iterations than the others, as the last blocks of a matrix have.
  /// No sample need hold one; each is taken to miss as often as a full turn at most.
  double uneven = 0;
};

/// Adds what was counted between two moments, times a factor.
void add_scaled(Counts& sum, const Counts& later, const Counts& earlier, double factor);

/// Simulates samples of a prepared nest, spread over its loops. Keeps a reference to the nest.
class SampledReplay {
public:
  SampledReplay(const Nest& nest, std::int64_t accesses) : nest_(nest), accesses_(accesses) {}

  /// Whether samples are fewer accesses than the nest makes.
  [[nodiscard]] static bool pays(std::int64_t accesses) { return accesses > most_windows * least_window; }
  /// Adds an estimate of what the nest counts; the contents of the caches are then those of the last sample.
  /// Sets Hierarchy::sampling.
  void run(Hierarchy& caches) const;

  /// Accesses of a sample: one iteration of a loop, or as many as make the least number.
  static constexpr std::int64_t least_window = 1 << 18;
  static constexpr std::int64_t most_warm_up = 4; ///< windows simulated before the counted one
  /// Windows simulated at most: a loop with fewer is simulated completely.
  static constexpr std::int64_t most_windows = (most_warm_up + 1) * std::int64_t{Sampling::samples};

private:
  const Nest& nest_;
  std::int64_t accesses_;
};

} // namespace recount::model
