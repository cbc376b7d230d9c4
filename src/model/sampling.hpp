// What a sampled simulation knows of its own error.
#pragma once

#include "model/counts.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace recount::model {

/// A simulation of parts of a loop nest. Each sample is simulated from empty caches, warmed up, and
/// extrapolated to the whole nest by the number of accesses.
struct Sampling {
  static constexpr std::size_t samples = 6;
  /// Student's t for a two-sided 95 % interval and `samples` - 1 degrees of freedom.
  static constexpr double t = 2.571;

  std::int64_t accesses = 0, counted = 0; ///< loads and stores of the nest, and those in samples
  std::vector<Counts> estimates = {};     ///< of the whole nest, by each sample
  /// Of each TLB level and then of each cache level: its places, whose contents before the nest are not
  /// simulated, and the misses that filled an empty place, extrapolated. Such a line might have been there
  /// after a longer warm-up. Where a set of an LRU level is full, its contents do not depend on what came
  /// before.
  std::vector<double> unsettled = {};
  /// Share of the loop turns that have fewer iterations than the others, as the last blocks of a matrix have.
  /// No sample need hold one; each is taken to miss as often as a full turn at most.
  double uneven = 0;
};

/// Adds what was counted between two moments, times a factor.
void add_scaled(Counts& sum, const Counts& later, const Counts& earlier, double factor);

} // namespace recount::model
