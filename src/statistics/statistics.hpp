// Statistics of repeated measurements. Pure functions: no allocation is kept, no state, safe from any thread.
#pragma once

#include <cstddef>
#include <span>

namespace recount::statistics {

/// What a set of repetitions comes to. All in the unit of the values.
struct Summary {
  std::size_t n = 0;
  double mean = 0, median = 0, min = 0, max = 0;
  double p10 = 0, p90 = 0; ///< quantiles of type 7; p10 to p90 is the spread that figures draw as a band
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
[[nodiscard]] Summary summarise(std::span<const double> values);

} // namespace recount::statistics
