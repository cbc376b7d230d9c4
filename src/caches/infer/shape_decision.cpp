#include "caches/infer/shape_decision.hpp"

#include "statistics/statistics.hpp"

#include <boost/math/distributions/normal.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

namespace recount::caches {

namespace {

constexpr std::int64_t most_ways_decided = 64;
constexpr std::int64_t smallest_way = 512, largest_way = std::int64_t{128} << 10;
constexpr double odd_penalty = 4; ///< log of how much rarer a number of sets that is no power of two is
constexpr double least_noise = 0.004, most_noise = 0.1;
constexpr double disturbed_part = 0.05;                    ///< readings that tell nothing
constexpr double narrowest_share = -0.2, widest_share = 4; ///< shares beyond are cut
constexpr double least_loss = 0.12; ///< of the overfull lines; 16 ways at random keep nearly all of 17 lines
constexpr double most_loss = 1.3, beyond_most = 0.2; ///< and the probability of more than that
constexpr double tempered =
    0.5; ///< readings share disturbances: they are worth half as many independent ones
constexpr std::size_t steps_of_share = 16;

/// Log-likelihoods of one reading by the overfull share under a hypothesis, in steps of 1/16.
using Likelihoods = std::array<double, steps_of_share + 1>;

double density_of_fit(double share, double noise) {
  return boost::math::pdf(boost::math::normal_distribution<double, statistics::Double>(0, noise), share);
}

double density_of_loss(double share, double overfull, double noise) {
  const double low = least_loss * overfull, high = most_loss * overfull;
  if (share > high) return beyond_most / (widest_share - high);
  const double below = std::max(0.0, low - share);
  return (1 - beyond_most) / (high - low) * std::exp(-below * below / (2 * noise * noise));
}

Likelihoods likelihoods(double reading, double noise) {
  const double share = std::clamp(reading, narrowest_share, widest_share);
  Likelihoods all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double overfull = static_cast<double>(i) / steps_of_share;
    const double density = i == 0 ? density_of_fit(share, noise) : density_of_loss(share, overfull, noise);
    all[i] = std::log((1 - disturbed_part) * density + disturbed_part / (widest_share - narrowest_share));
  }
  return all;
}

/// The share of these lines that fall into sets with more lines than ways, in steps; 0 only for none.
std::size_t overfull_steps(std::int64_t ways, std::int64_t way_bytes, const StrideReading& reading) {
  const std::int64_t sets = way_bytes / std::gcd(reading.stride, way_bytes);
  const std::int64_t each = reading.lines / sets, fuller = reading.lines % sets; // sets with one line more
  const std::int64_t overfull = each > ways       ? reading.lines
                                : each + 1 > ways ? fuller * (each + 1)
                                                  : std::int64_t{0};
  if (overfull == 0) return 0;
  const double share = static_cast<double>(overfull) / static_cast<double>(reading.lines);
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(share * steps_of_share)));
}

/// Deviation of the shares of what fits: that of the normal component around 0 of a mixture with anything
/// else, fitted by expectation maximisation.
double noise_of_fitting(std::span<const StrideReading> readings) {
  double noise = most_noise;
  for (int step = 0; step < 20; ++step) {
    double weight = 0, squares = 0;
    for (const StrideReading& r : readings) {
      const double fits = density_of_fit(r.share, noise), of_fit = fits / (fits + 1 / widest_share);
      weight += of_fit;
      squares += of_fit * r.share * r.share;
    }
    if (weight < 1) return most_noise;
    noise = std::clamp(std::sqrt(squares / weight), least_noise, most_noise);
  }
  return noise;
}

std::optional<ShapeDecision> most_probable(std::span<const StrideReading> readings,
                                           std::span<const std::int64_t> way_sizes) {
  if (readings.empty()) return {};
  const double noise = noise_of_fitting(readings);
  std::vector<Likelihoods> by_reading;
  for (const StrideReading& r : readings)
    by_reading.push_back(likelihoods(r.share, noise));
  std::vector<double> logs;
  ShapeDecision best;
  double highest = -INFINITY;
  for (const std::int64_t way : way_sizes)
    for (std::int64_t ways = 1; ways <= most_ways_decided; ++ways) {
      double log = std::has_single_bit(static_cast<std::uint64_t>(way)) ? 0 : -odd_penalty;
      for (std::size_t i = 0; i < readings.size(); ++i)
        log += tempered * by_reading[i][overfull_steps(ways, way, readings[i])];
      if (log > highest) {
        highest = log;
        best = {ways, way, 0};
      }
      logs.push_back(log);
    }
  double all = 0;
  for (const double log : logs)
    all += std::exp(log - highest);
  best.probability = 1 / all;
  return best;
}

} // namespace

std::optional<ShapeDecision> decide_shape(std::span<const StrideReading> readings) {
  std::vector<std::int64_t> way_sizes;
  for (std::int64_t odd = 1; odd <= 15; odd += 2)
    for (std::int64_t bytes = odd * 64; bytes <= largest_way; bytes *= 2)
      if (bytes >= smallest_way) way_sizes.push_back(bytes);
  return most_probable(readings, way_sizes);
}

std::optional<ShapeDecision> decide_ways(std::span<const StrideReading> readings) {
  constexpr std::int64_t one_set[] = {1};
  return most_probable(readings, one_set);
}

} // namespace recount::caches
