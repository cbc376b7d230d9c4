#include "caches/infer/conflict_sets.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

namespace recount::caches {

namespace {

constexpr std::int64_t most_ways_decided = 64;
constexpr std::int64_t smallest_way = 512, largest_way = std::int64_t{128} << 10;
constexpr std::array<std::int64_t, 8> odd_factors{1, 3, 5, 7, 9, 11, 13, 15};
constexpr double odd_penalty = 4; ///< log of how much rarer a number of sets that is no power of two is
constexpr double least_noise = 0.004, most_noise = 0.1;
constexpr double disturbed_part = 0.05; ///< readings that say nothing
constexpr double widest_share = 4;      ///< shares beyond are cut
constexpr double least_loss = 0.12; ///< of the overfull lines; 16 ways at random keep nearly all of 17 lines
constexpr double most_loss = 1.3, beyond_most = 0.2; ///< and the probability of more than that
constexpr double tempered =
    0.5; ///< readings share disturbances: they are worth half as many independent ones
constexpr std::size_t steps_of_share = 16;

/// Log-likelihoods of one reading by the overfull share under a hypothesis, in steps of 1/16.
using Likelihoods = std::array<double, steps_of_share + 1>;

double density_of_fit(double share, double noise) {
  const double z = share / noise;
  return std::exp(-z * z / 2) / (noise * std::sqrt(2 * std::numbers::pi));
}

double density_of_loss(double share, double overfull, double noise) {
  const double low = least_loss * overfull, high = most_loss * overfull;
  if (share < low)
    return (1 - beyond_most) / (high - low) * std::exp(-(share - low) * (share - low) / (2 * noise * noise));
  return share <= high ? (1 - beyond_most) / (high - low) : beyond_most / (widest_share - high);
}

Likelihoods likelihoods_of(double reading, double noise) {
  const double share = std::clamp(reading, -0.2, widest_share);
  Likelihoods all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double overfull = static_cast<double>(i) / steps_of_share;
    const double density = i == 0 ? density_of_fit(share, noise) : density_of_loss(share, overfull, noise);
    all[i] = std::log((1 - disturbed_part) * density + disturbed_part / (widest_share + 0.2));
  }
  return all;
}

std::size_t step_of(double overfull) {
  if (overfull == 0) return 0;
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(overfull * steps_of_share)));
}

std::vector<std::int64_t> ways_in_bytes(bool one_set) {
  if (one_set) return {1};
  std::vector<std::int64_t> all;
  for (const std::int64_t odd : odd_factors)
    for (std::int64_t bytes = odd * 64; bytes <= largest_way; bytes *= 2)
      if (bytes >= smallest_way) all.push_back(bytes);
  return all;
}

std::optional<ShapeDecision> most_probable(std::span<const StrideReading> readings, bool one_set) {
  if (readings.empty()) return {};
  std::vector<double> shares;
  for (const StrideReading& r : readings)
    shares.push_back(r.share);
  ShapeDecision best;
  best.noise = noise_of_fitting(shares);
  std::vector<Likelihoods> of_readings;
  for (const StrideReading& r : readings)
    of_readings.push_back(likelihoods_of(r.share, best.noise));
  std::vector<double> logs;
  double highest = 0;
  for (const std::int64_t way : ways_in_bytes(one_set))
    for (std::int64_t ways = 1; ways <= most_ways_decided; ++ways) {
      double log = (way & (way - 1)) == 0 ? 0 : -odd_penalty;
      for (std::size_t i = 0; i < readings.size(); ++i)
        log += tempered *
               of_readings[i][step_of(overfull_share(ways, way, readings[i].stride, readings[i].lines))];
      if (logs.empty() || log > highest) {
        highest = log;
        best.ways = ways;
        best.way_bytes = way;
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

double overfull_share(std::int64_t ways, std::int64_t way_bytes, std::int64_t stride, std::int64_t lines) {
  const std::int64_t sets = way_bytes / std::gcd(stride, way_bytes);
  const std::int64_t each = lines / sets, fuller = lines % sets; // sets that hold one line more
  std::int64_t overfull = 0;
  if (each + 1 > ways) overfull += fuller * (each + 1);
  if (each > ways) overfull += (sets - fuller) * each;
  return static_cast<double>(overfull) / static_cast<double>(lines);
}

double noise_of_fitting(std::span<const double> shares) {
  double noise = most_noise;
  for (int step = 0; step < 20; ++step) {
    double weight = 0, squares = 0;
    for (const double share : shares) {
      const double fits = density_of_fit(share, noise), of_fit = fits / (fits + 1 / widest_share);
      weight += of_fit;
      squares += of_fit * share * share;
    }
    if (weight < 1) return most_noise;
    noise = std::clamp(std::sqrt(squares / weight), least_noise, most_noise);
  }
  return noise;
}

std::optional<ShapeDecision> decide_shape(std::span<const StrideReading> readings) {
  return most_probable(readings, false);
}

std::optional<ShapeDecision> decide_ways(std::span<const StrideReading> readings) {
  return most_probable(readings, true);
}

} // namespace recount::caches
