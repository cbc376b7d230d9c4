// Statistics of repeated measurements. Pure functions: no allocation is kept, no state, safe from any thread.
#pragma once

#include <boost/math/policies/policy.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recount::statistics {

/// What stands for the repetitions of a point in tables and figures.
enum class Statistic { median, minimum, mean };
/// "median", "minimum", "mean".
[[nodiscard]] const char* name_of(Statistic statistic) noexcept;
/// Throws recount::Error (bad_input), which names all three.
[[nodiscard]] Statistic parse_statistic(std::string_view name);

/// What a set of repetitions comes to. All in the unit of the values.
struct Summary {
  /// The chosen statistic, and the 95 % interval of the median (see median_interval()). For another statistic
  /// there is no interval: both ends are the value.
  double value = 0, low = 0, high = 0;
  Statistic statistic = Statistic::median;
  std::size_t n = 0;
  double mean = 0, median = 0, min = 0, max = 0;
  double p10 = 0, p90 = 0; ///< quantiles of type 7
  double mad = 0;          ///< median absolute deviation from the median, not scaled to a normal's sigma
};

/// The p-quantile (0 <= p <= 1) by linear interpolation between the order statistics around 1 + (n - 1) p:
/// type 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", The American Statistician 50
/// (1996), the default of R and NumPy. Throws std::invalid_argument when there are no values, one is not
/// finite, or p is out of range.
[[nodiscard]] double quantile(std::span<const double> values, double p);
[[nodiscard]] double median(std::span<const double> values);
[[nodiscard]] double mean(std::span<const double> values);
/// Of a sample: squares divided by n - 1. Throws as quantile() does, and for fewer than two values.
[[nodiscard]] double standard_deviation(std::span<const double> values);
/// Throws as quantile() does.
[[nodiscard]] double median_absolute_deviation(std::span<const double> values);
/// Throws as quantile() does.
[[nodiscard]] Summary summarise(std::span<const double> values, Statistic statistic = Statistic::median);

/// Fewer values than these have no outliers: their median is no firm ground.
inline constexpr std::size_t min_for_outliers = 5;
/// Values further from the median than this many median absolute deviations: ten standard deviations of a
/// normal distribution (modified Z-score; Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993). As
/// deviation counts at least 0.1 % of the median, so that equal counts but one are not called so for a
/// trifle.
inline constexpr double outlier_deviations = 14.826;
/// Their indices, ascending. Throws std::invalid_argument when a value is not finite.
[[nodiscard]] std::vector<std::size_t> outliers(std::span<const double> values);

/// Fewer values than these have no 95 % interval of the median: the interval is their range, which holds the
/// median with probability 1 - 2^(1 - n).
inline constexpr std::size_t min_for_interval = 6;

struct Interval {
  double low = 0, high = 0;
};
/// The 95 % bootstrap percentile interval of the median of values in ascending order, without resampling: the
/// median of a resample is at most the k-th value if half of its draws are, so its distribution is binomial
/// (Efron, "Bootstrap Methods: Another Look at the Jackknife", Annals of Statistics 7, 1979, section 3).
/// `sorted` is not empty.
[[nodiscard]] Interval median_interval(std::span<const double> sorted);

// How Boost.Math computes.

/// In double: Valgrind executes long double with the precision of double, and the tables that Boost.Math
/// makes for long double when a program starts overflow there. recount itself may be simulated.
using Double = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

// A median with its confidence interval, and whether it is within given limits. Pure.

/// Values of one quantity, a group for each process that measured it: values of one process resemble one
/// another more than those of two.
using Groups = std::vector<std::vector<double>>;

struct Estimate {
  double median = 0;
  double low = 0, high = 0; ///< the interval of 90 %
  std::size_t n = 0;        ///< values behind it
  /// Nine standard errors of the median, outliers left out: by so much the median of 16 values with the same
  /// noise is off once in ten million times (t distribution of 15 degrees of freedom).
  double chance = 0;
};

/// The median of all values and its bootstrap percentile interval (Efron, "Bootstrap Methods: Another Look at
/// the Jackknife", Annals of Statistics 7, 1979): 999 resamples of groups, and of values in each group drawn.
/// The same seed gives the same interval. Nothing where there are no values. Throws std::invalid_argument
/// when one is not finite.
[[nodiscard]] std::optional<Estimate> estimate(const Groups& groups, std::uint64_t seed = 1);

/// Limits, both included; `low` may be over `high`, and then nothing lies within.
struct Band {
  double low = 0, high = 0;
};

/// An equivalence test by interval: the interval of 90 % wholly inside the band is what two one-sided tests
/// at 5 % each would accept (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987). Wholly
/// outside, and further than chance explains, is a difference: thousands of intervals are compared in a run,
/// of which noise would put hundreds outside. Neither: the values do not decide.
enum class Held { inside, outside, undecided };
[[nodiscard]] Held held(const Estimate& estimate, const Band& band) noexcept;

// Whether values support the statement that two quantities differ. Pure.

/// What two sets of repetitions say about a difference.
enum class Evidence {
  clear,   ///< they differ
  overlap, ///< the 95 % intervals of their medians overlap
  weak,    ///< disjoint intervals, as often occur by chance among that many repetitions
  few      ///< fewer than `min_compared` repetitions of one of them
};

/// With three repetitions, noise that disturbs a third of the processes separates 2 pairs in 100; with five,
/// 1 in 900.
inline constexpr std::size_t min_compared = 3;

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

// Which of several machines differs from the others in one quantity. Pure.

/// A quantity on one machine, with the 95 % interval of its median.
struct NodeValue {
  double value = 0, low = 0, high = 0;
};

/// Fewer machines than these allow no conclusion about one of them: of three, the two that agree may be the
/// odd ones.
inline constexpr std::size_t min_nodes = 4;

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

/// An outlier exceeds the limit, differs from the median by more than `min_share` of it, and its interval
/// is disjoint from those of more than half of the machines. `comparisons`: quantities that are judged
/// together.
[[nodiscard]] NodeScores score_nodes(std::span<const NodeValue> nodes, std::size_t comparisons,
                                     double min_share);

} // namespace recount::statistics
