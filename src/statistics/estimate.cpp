#include "statistics/estimate.hpp"

#include "base/random.hpp"
#include "statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <stdexcept>

namespace recount::statistics {
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

} // namespace

std::optional<Estimate> estimate(const Groups& groups, std::uint64_t seed) {
  std::vector<double> all = pooled(groups);
  if (all.empty()) return {};
  const auto [least, most] = std::ranges::minmax(all);
  if (least == most) return Estimate{least, least, least, all.size()};
  Groups filled;
  std::ranges::copy_if(groups, std::back_inserter(filled), [](const auto& group) { return !group.empty(); });
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
  return Estimate{middle(all), quantile(medians, tail), quantile(medians, 1 - tail), all.size()};
}

Held held(const Estimate& estimate, const Band& band) noexcept {
  if (estimate.low >= band.low && estimate.high <= band.high) return Held::inside;
  if (estimate.high < band.low || estimate.low > band.high) return Held::outside;
  return Held::undecided;
}

} // namespace recount::statistics
