#include "statistics/statistics.hpp"

#include <boost/math/statistics/univariate_statistics.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace recount::statistics {
namespace {
namespace stats = boost::math::statistics;

std::vector<double> checked(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("statistics of no values");
  if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); }))
    throw std::invalid_argument("statistics of a value that is not finite");
  return {values.begin(), values.end()};
}

/// Type 7 on values in ascending order.
double quantile_of_sorted(const std::vector<double>& sorted, double p) {
  if (!(p >= 0 && p <= 1)) throw std::invalid_argument("a quantile outside 0 to 1");
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}
} // namespace

double quantile(std::span<const double> values, double p) {
  auto sorted = checked(values);
  std::sort(sorted.begin(), sorted.end());
  return quantile_of_sorted(sorted, p);
}

double median(std::span<const double> values) {
  auto copy = checked(values);
  return stats::median(copy);
}

double mean(std::span<const double> values) {
  return stats::mean(checked(values));
}

double median_absolute_deviation(std::span<const double> values) {
  // Boost 1.74 has a function of this name that returns a value in place of its deviation.
  auto deviations = checked(values);
  const double centre = median(values);
  for (double& d : deviations)
    d = std::abs(d - centre);
  return stats::median(deviations);
}

Summary summarise(std::span<const double> values) {
  auto sorted = checked(values);
  std::sort(sorted.begin(), sorted.end());
  Summary s;
  s.n = sorted.size();
  s.min = sorted.front();
  s.max = sorted.back();
  s.mean = stats::mean(sorted);
  s.p10 = quantile_of_sorted(sorted, 0.1);
  s.p90 = quantile_of_sorted(sorted, 0.9);
  s.median = quantile_of_sorted(sorted, 0.5);
  s.mad = median_absolute_deviation(sorted);
  return s;
}

} // namespace recount::statistics
