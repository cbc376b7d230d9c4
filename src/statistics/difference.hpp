// Whether values support the statement that two quantities differ. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace recount::statistics {

/// What two sets of repetitions say about a difference.
enum class Evidence {
  clear,   ///< they differ
  overlap, ///< the 95 % intervals of their medians overlap
  weak,    ///< disjoint intervals, as often occur by chance among that many repetitions
  few      ///< fewer than `least_compared` repetitions of one of them
};

/// With three repetitions, noise that disturbs a third of the processes separates 2 pairs in 100; with five,
/// 1 in 900.
inline constexpr std::size_t least_compared = 3;

/// A report compares dozens of pairs. Of pairs of 5 values without a difference 1 in 126 has disjoint
/// intervals, so that alone would make a report of 20 pairs state an effect of noise with probability 0.15.
/// Therefore Welch's t test (Biometrika 34, 1947) must reject equality at this level as well, on logarithms
/// where all values are positive: with 100 comparisons, the probability of any false statement is at most 5 %
/// (Bonferroni).
inline constexpr double comparison_level = 0.0005;

[[nodiscard]] Evidence evidence(std::span<const double> a, std::span<const double> b);

/// "not distinguishable from noise (intervals overlap); repeat with --repeat 10 on a quiet machine"; empty
/// for a clear difference. `n`: repetitions of the side with fewer. Of two, the ratio has a range and is
/// printed with it: "no conclusion from fewer than 3 repetitions; ...".
[[nodiscard]] std::string reservation(Evidence evidence, std::size_t n);

} // namespace recount::statistics
