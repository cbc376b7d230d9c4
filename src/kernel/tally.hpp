// Instruction counts of measured code by class: counted by hand from its instructions, never measured.
#pragma once

#include "kernel/kernel.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <vector>

namespace recount::kernel {

/// Counts of one kind each; whole numbers, except where a balanced random pattern makes a half of each step.
/// An instruction counts in every class it belongs to.
struct Tally {
  double instructions = 0;
  double loads = 0, stores = 0; ///< instructions that read or write memory, the stack included
  double transfers = 0;         ///< instructions that do either; one that does both counts once
  double conditional = 0;       ///< conditional branches, and of those the taken ones
  double taken = 0;
  double unconditional = 0; ///< all other branches: jumps, calls, returns
  double system_calls = 0;  ///< that processors may take for branches
  double integer = 0;       ///< integer arithmetic, logic and comparison
  /// Floating-point arithmetic (moves are none), in all and by kind.
  double fp = 0, adds = 0, multiplies = 0, fmas = 0, divides = 0, roots = 0, inversions = 0;
  double half_ops = 0, single_ops = 0, double_ops = 0; ///< operations: elements, times two for an FMA
  double vectors = 0;                                  ///< packed arithmetic, in all and by element
  double half_vectors = 0, single_vectors = 0, double_vectors = 0;
  double fences = 0;                                 ///< barriers and atomic updates
  double prefetches = 0;                             ///< of data
  double conditional_stores = 0, refused_stores = 0; ///< store conditionals, and of those the failing ones
  double load_misses = 0, store_misses = 0;          ///< that find their line in no cache at all
  double prefetch_misses = 0;
  bool operator==(const Tally&) const = default;
};

/// Every count of a tally, in the order of its members.
using TallyCounts = std::array<double, sizeof(Tally) / sizeof(double)>;

constexpr Tally operator+(const Tally& a, const Tally& b) {
  auto sum = std::bit_cast<TallyCounts>(a);
  const auto more = std::bit_cast<TallyCounts>(b);
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum[i] += more[i];
  return std::bit_cast<Tally>(sum);
}
constexpr Tally operator*(double times, const Tally& a) {
  auto product = std::bit_cast<TallyCounts>(a);
  for (double& count : product)
    count *= times;
  return std::bit_cast<Tally>(product);
}

/// The terms of counts in the tables of assembly: `2 * integer + load`.
namespace tallies {

inline constexpr Tally nothing{};
inline constexpr Tally plain{.instructions = 1};
inline constexpr Tally integer{.instructions = 1, .integer = 1};
inline constexpr Tally load{.instructions = 1, .loads = 1, .transfers = 1};
inline constexpr Tally store{.instructions = 1, .stores = 1, .transfers = 1};
inline constexpr Tally update{.instructions = 1, .loads = 1, .stores = 1, .transfers = 1};
inline constexpr Tally jump{.instructions = 1, .unconditional = 1};
inline constexpr Tally branch{.instructions = 1, .conditional = 1}; ///< not taken
inline constexpr Tally taken{.instructions = 1, .conditional = 1, .taken = 1};
inline constexpr Tally system_call{.instructions = 1, .system_calls = 1};
inline constexpr Tally fence{.instructions = 1, .fences = 1};
inline constexpr Tally prefetch{.instructions = 1, .prefetches = 1};

inline constexpr Tally conditional_store = store + Tally{.conditional_stores = 1}; ///< that succeeds
inline constexpr Tally refused_store = conditional_store + Tally{.refused_stores = 1};
/// That find their line in no cache.
inline constexpr Tally missing_load = load + Tally{.load_misses = 1};
inline constexpr Tally missing_store = store + Tally{.store_misses = 1};
inline constexpr Tally missing_prefetch = prefetch + Tally{.prefetch_misses = 1};

/// One instruction that is of two kinds.
constexpr Tally both(const Tally& a, const Tally& b) {
  return a + b + -1 * plain;
}

/// What one instruction of floating-point arithmetic counts: `lanes` elements, 1 for a scalar one.
constexpr Tally floating(double Tally::*kind, int bits, int lanes) {
  Tally t{.instructions = 1, .fp = 1};
  t.*kind = 1;
  const double ops = (kind == &Tally::fmas ? 2 : 1) * lanes, packed = lanes > 1 ? 1 : 0;
  t.*(bits == 16 ? &Tally::half_ops : bits == 32 ? &Tally::single_ops : &Tally::double_ops) = ops;
  t.*(bits == 16   ? &Tally::half_vectors
      : bits == 32 ? &Tally::single_vectors
                   : &Tally::double_vectors) = packed;
  t.vectors = packed;
  return t;
}

} // namespace tallies

// The presets that a tally answers.

/// Presets that count instructions and operations, known zeros included: each a sum of kinds of
/// the tally turns * turn + once.
[[nodiscard]] std::vector<Expectation> instruction_presets(const Tally& turn, double turns,
                                                           const Tally& once);

/// Presets that count what caches do, for code whose lines all fit in L1 except those that
/// the tally counts as misses.
[[nodiscard]] std::vector<Expectation> cache_presets(const Tally& turn, double turns, const Tally& once);

} // namespace recount::kernel
