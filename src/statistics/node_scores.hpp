// Which of several machines differs from the others in one quantity. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace recount::statistics {

/// A quantity on one machine, with the 95 % interval of its median.
struct NodeValue {
  double value = 0, low = 0, high = 0;
};

/// Fewer machines than these allow no conclusion about one of them: of three, the two that agree may be the
/// odd ones.
inline constexpr std::size_t least_nodes = 4;

struct NodeScores {
  double median = 0;     ///< over the machines
  double deviation = 0;  ///< 1.4826 MAD over the machines, at least the standard error of a typical machine
  double limit = 0;      ///< |z| of an outlier; 0: too few machines
  std::vector<double> z; ///< robust z-score (value - median) / deviation; infinite where that is 0
  std::vector<std::size_t> outliers;
};

/// The |z| that a machine without any difference exceeds in one of `comparisons` quantities with a
/// probability of about 5 %: the quantile of Student's t at 0.05 / (nodes x comparisons), two-sided
/// (Bonferroni), with nodes / 2 degrees of freedom, since a MAD rests on half of the values; at least 3.5
/// (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993). The usual 3.5 alone calls one of 4 equal
/// machines an outlier in every sixth comparison.
[[nodiscard]] double score_limit(std::size_t nodes, std::size_t comparisons);

/// An outlier exceeds the limit, differs from the median by more than `least_share` of it, and its interval
/// is disjoint from those of more than half of the machines. `comparisons`: quantities that are judged
/// together.
[[nodiscard]] NodeScores score_nodes(std::span<const NodeValue> nodes, std::size_t comparisons,
                                     double least_share);

} // namespace recount::statistics
