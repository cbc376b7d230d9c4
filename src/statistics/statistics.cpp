#include "statistics/statistics.hpp"
#include "statistics/policy.hpp"

#include "base/nearest.hpp"

#include <recount/error.hpp>

#include <boost/math/special_functions/beta.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>

#include <algorithm>
#include <array>
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

constexpr double interval_tail = 0.025; // on either side

constexpr std::array statistic_names{"median", "minimum", "mean"}; // in the order of Statistic

/// The rank, from 1, of the value that the median of a resample of n exceeds in all but `interval_tail` of
/// the cases: the least k with P(Binomial(n, k / n) >= (n + 1) / 2) >= interval_tail.
std::size_t lower_rank(std::size_t n) {
  thread_local std::size_t last_n = 0, last_rank = 0; // points have equally many repetitions
  if (n == last_n) return last_rank;
  const std::size_t half = (n + 1) / 2;
  const double share = boost::math::ibeta_inv(static_cast<double>(half), static_cast<double>(n - half + 1),
                                              interval_tail, Double());
  last_n = n;
  last_rank = std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(share * static_cast<double>(n))));
  return last_rank;
}
} // namespace

const char* name_of(Statistic statistic) noexcept {
  return statistic_names[static_cast<std::size_t>(statistic)];
}

Statistic parse_statistic(std::string_view name) {
  const auto* const at = std::ranges::find(statistic_names, name);
  if (at == statistic_names.end())
    throw bad_input("--statistic " + std::string(name), "no such statistic",
                    base::did_you_mean(name, statistic_names, "--statistic median, minimum or mean"));
  return static_cast<Statistic>(at - statistic_names.begin());
}

Interval median_interval(std::span<const double> sorted) {
  const std::size_t rank = lower_rank(sorted.size());
  return {sorted[rank - 1], sorted[sorted.size() - rank]};
}

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

std::vector<std::size_t> outliers(std::span<const double> values) {
  std::vector<std::size_t> found;
  if (values.size() < least_for_outliers) return found;
  const double centre = median(values);
  const double deviation = std::max(median_absolute_deviation(values), 1e-3 * std::abs(centre));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::abs(values[i] - centre) > outlier_deviations * deviation) found.push_back(i);
  return found;
}

Summary summarise(std::span<const double> values, Statistic statistic) {
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
  const std::array by_statistic{s.median, s.min, s.mean}; // in the order of Statistic
  s.statistic = statistic;
  s.value = s.low = s.high = by_statistic[static_cast<std::size_t>(statistic)];
  if (statistic == Statistic::median) {
    const auto [low, high] = median_interval(sorted);
    s.low = low;
    s.high = high;
  }
  return s;
}

} // namespace recount::statistics
