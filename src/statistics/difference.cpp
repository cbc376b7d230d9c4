#include "statistics/difference.hpp"
#include "statistics/policy.hpp"

#include "statistics/statistics.hpp"

#include <boost/math/special_functions/beta.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace recount::statistics {
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
  if (std::min(a.size(), b.size()) < least_compared) return Evidence::few;
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
  const auto text = [](const char* why, std::size_t repeat) {
    return fmt::format("not distinguishable from noise ({}); repeat with --repeat {} on a quiet machine", why,
                       repeat);
  };
  switch (evidence) {
  case Evidence::few:
    return n > 1 ? "no conclusion from fewer than 3 repetitions; repeat with --repeat 10 on a quiet machine"
                 : text("fewer than 3 repetitions", 10);
  case Evidence::overlap: return text("intervals overlap", std::max<std::size_t>(10, 2 * n));
  default: return text("too few repetitions for so small a difference", std::max<std::size_t>(10, 2 * n));
  }
}

} // namespace recount::statistics
