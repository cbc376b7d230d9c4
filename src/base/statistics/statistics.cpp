#include "base/statistics/statistics.hpp"

#include "base/nearest.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <numeric>
#include <recount/error.hpp>
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
  const auto all = checked(values);
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) throw std::invalid_argument("a standard deviation of fewer than two values");
  const double centre = mean(values);
  double squares = 0;
  for (const double value : values)
    squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
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
  if (values.size() < min_for_outliers) return found;
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
  s.mean = mean(sorted);
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

namespace {

constexpr std::size_t resamples = 999;
constexpr double tail = 0.05;

std::vector<double> pooled(const Groups& groups) {
  std::vector<double> all;
  for (const auto& group : groups)
    all.insert(all.end(), group.begin(), group.end());
  if (!std::ranges::all_of(all, [](double v) { return std::isfinite(v); }))
    throw std::invalid_argument("an estimate of a value that is not finite");
  return all;
}

/// The median of values that may be reordered.
double middle(std::vector<double>& values) {
  const auto half = static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), values.begin() + half, values.end());
  const double upper = values[static_cast<std::size_t>(half)];
  if (values.size() % 2 == 1) return upper;
  return std::midpoint(*std::max_element(values.begin(), values.begin() + half), upper);
}

/// See Estimate::chance.
double chance_of_median(const std::vector<double>& values) {
  constexpr double errors = 9, of_median = 1.2533; // square root of pi / 2: of a normal distribution
  std::vector<double> kept = values;
  const auto out = outliers(values);
  for (auto at = out.rbegin(); at != out.rend(); ++at)
    kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(*at));
  if (kept.size() < 2) return 0;
  return errors * of_median * standard_deviation(kept) / std::sqrt(static_cast<double>(kept.size()));
}

} // namespace

std::optional<Estimate> estimate(const Groups& groups, std::uint64_t seed) {
  std::vector<double> all = pooled(groups);
  if (all.empty()) return {};
  const auto [least, most] = std::ranges::minmax(all);
  if (least == most) return Estimate{least, least, least, all.size(), 0};
  const double chance = chance_of_median(all);
  Groups filled;
  std::ranges::copy_if(groups, std::back_inserter(filled), [](const auto& group) { return !group.empty(); });
  // More than `tail` of the resamples of up to five values, drawn one by one, have the least as their median:
  // of five, those with three of it, 0.058.
  const bool singly = filled.size() == 1 || all.size() == filled.size();
  if (singly && all.size() <= 5) return Estimate{middle(all), least, most, all.size(), chance};
  std::vector<double> medians, drawn;
  medians.reserve(resamples);
  for (std::size_t i = 0; i < resamples; ++i) {
    drawn.clear();
    for (std::size_t g = 0; g < filled.size(); ++g) {
      const auto& group = filled[base::random_below(seed, filled.size())];
      for (std::size_t k = 0; k < group.size(); ++k)
        drawn.push_back(group[base::random_below(seed, group.size())]);
    }
    medians.push_back(middle(drawn));
  }
  return Estimate{middle(all), quantile(medians, tail), quantile(medians, 1 - tail), all.size(), chance};
}

Held held(const Estimate& estimate, const Band& band) noexcept {
  if (estimate.low >= band.low && estimate.high <= band.high) return Held::inside;
  const double low = std::min(estimate.low, estimate.median - estimate.chance),
               high = std::max(estimate.high, estimate.median + estimate.chance);
  if (high < band.low || low > band.high) return Held::outside;
  return Held::undecided;
}

namespace {

struct Moments {
  double mean = 0, error = 0; ///< error: variance of the mean
  double freedom = 0;
};

Moments moments(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  Moments m;
  m.mean = mean(values);
  double squares = 0;
  for (const double v : values)
    squares += (v - m.mean) * (v - m.mean);
  m.freedom = n - 1;
  m.error = squares / m.freedom / n;
  return m;
}

/// The two-sided p of Welch's test.
double welch(const std::vector<double>& a, const std::vector<double>& b) {
  const Moments x = moments(a), y = moments(b);
  const double error = x.error + y.error, away = x.mean - y.mean;
  if (error == 0) return away == 0 ? 1 : 0;
  const double freedom = error * error / (x.error * x.error / x.freedom + y.error * y.error / y.freedom);
  // Of Student's t with f degrees of freedom: P(|T| > t) = I(f / (f + t^2); f / 2, 1 / 2).
  return boost::math::ibeta(freedom / 2, 0.5, freedom / (freedom + away * away / error), Double());
}

} // namespace

Evidence evidence(std::span<const double> a, std::span<const double> b) {
  if (std::min(a.size(), b.size()) < min_compared) return Evidence::few;
  std::vector<double> x(a.begin(), a.end()), y(b.begin(), b.end());
  std::ranges::sort(x);
  std::ranges::sort(y);
  const Interval of_x = median_interval(x), of_y = median_interval(y);
  if (of_x.low <= of_y.high && of_y.low <= of_x.high) return Evidence::overlap;
  if (x.front() > 0 && y.front() > 0)
    for (auto* values : {&x, &y})
      for (double& v : *values)
        v = std::log(v);
  return welch(x, y) <= comparison_level ? Evidence::clear : Evidence::weak;
}

std::string reservation(Evidence evidence, std::size_t n) {
  if (evidence == Evidence::clear) return {};
  const auto text = [](const std::string& why, std::size_t repeat) {
    return fmt::format("not distinguishable from noise ({}); repeat with --repeat {} on a quiet machine", why,
                       repeat);
  };
  switch (evidence) {
  case Evidence::few:
    return n > 1 ? "no conclusion from fewer than 3 repetitions; repeat with --repeat 10 on a quiet machine"
                 : text("fewer than 3 repetitions", 10);
  case Evidence::overlap: return text("intervals overlap", std::max<std::size_t>(10, 2 * n));
  default:
    return text(fmt::format("disjoint intervals, but {} repetitions are too few for a conclusion", n),
                std::max<std::size_t>(10, 2 * n));
  }
}

namespace {

/// Half the width of a 95 % interval is 1.96 standard errors.
double standard_error(std::span<const NodeValue> nodes) {
  return median(base::mapped(nodes, [](const NodeValue& node) { return (node.high - node.low) / 2 / 1.96; }));
}

bool is_apart(const NodeValue& node, std::span<const NodeValue> nodes) {
  const auto disjoint = std::ranges::count_if(
      nodes, [&](const NodeValue& other) { return other.low > node.high || node.low > other.high; });
  return 2 * static_cast<std::size_t>(disjoint) > nodes.size();
}

} // namespace

double score_limit(std::size_t nodes, std::size_t comparisons) {
  const auto tests = static_cast<double>(nodes * std::max<std::size_t>(1, comparisons));
  const double freedom = std::max(1.0, std::floor(static_cast<double>(nodes) / 2));
  // P(|T| > t) = I(f / (f + t^2); f / 2, 1 / 2), solved for t.
  const double x = boost::math::ibeta_inv(freedom / 2, 0.5, 0.05 / tests, Double());
  return std::max(3.5, std::sqrt(freedom * (1 - x) / x));
}

NodeScores score_nodes(std::span<const NodeValue> nodes, std::size_t comparisons, double min_share) {
  NodeScores scores;
  if (nodes.empty()) return scores;
  const auto values = base::mapped(nodes, &NodeValue::value);
  scores.median = median(values);
  scores.deviation = std::max(1.4826 * median_absolute_deviation(values), standard_error(nodes));
  if (nodes.size() >= min_nodes) scores.limit = score_limit(nodes.size(), comparisons);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const double away = values[i] - scores.median;
    const double z = away == 0              ? 0
                     : scores.deviation > 0 ? away / scores.deviation
                                            : std::copysign(std::numeric_limits<double>::infinity(), away);
    scores.z.push_back(z);
    if (scores.limit > 0 && std::abs(z) > scores.limit &&
        std::abs(away) > min_share * std::abs(scores.median) && is_apart(nodes[i], nodes))
      scores.outliers.push_back(i);
  }
  return scores;
}

} // namespace recount::statistics
