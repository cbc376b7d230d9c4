// Statistics of repeated measurements. Pure functions: no allocation is kept, no state, safe from any thread.
#pragma once

#include <cstddef>
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
/// Throws as quantile() does.
[[nodiscard]] double median_absolute_deviation(std::span<const double> values);
/// Throws as quantile() does.
[[nodiscard]] Summary summarise(std::span<const double> values, Statistic statistic = Statistic::median);

/// Fewer values than these have no outliers: their median is no firm ground.
inline constexpr std::size_t least_for_outliers = 5;
/// Values further from the median than this many median absolute deviations: ten standard deviations of a
/// normal distribution (modified Z-score; Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993). As
/// deviation counts at least 0.1 % of the median, so that equal counts but one are not called so for a
/// trifle.
inline constexpr double outlier_deviations = 14.826;
/// Their indices, ascending. Throws std::invalid_argument when a value is not finite.
[[nodiscard]] std::vector<std::size_t> outliers(std::span<const double> values);

/// Fewer values than these have no 95 % interval of the median: the interval is their range, which holds the
/// median with probability 1 - 2^(1 - n).
inline constexpr std::size_t least_for_interval = 6;

struct Interval {
  double low = 0, high = 0;
};
/// The 95 % bootstrap percentile interval of the median of values in ascending order, without resampling: the
/// median of a resample is at most the k-th value if half of its draws are, so its distribution is binomial
/// (Efron, "Bootstrap Methods: Another Look at the Jackknife", Annals of Statistics 7, 1979, section 3).
/// `sorted` is not empty.
[[nodiscard]] Interval median_interval(std::span<const double> sorted);

} // namespace recount::statistics
