// Intervals of medians, and which differences a report may state.
#include "base/statistics/statistics.hpp"

#include <boost/test/unit_test.hpp>
#include <recount/error.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <vector>

using namespace recount;
using statistics::Evidence;

BOOST_AUTO_TEST_SUITE(evidence_of_differences)

namespace {

/// The bootstrap distribution of the median of 1 ... n, n odd, by going through all n^n resamples.
statistics::Interval every_resample(std::size_t n) {
  std::map<double, double> often;
  std::vector<std::size_t> drawn(n, 0);
  double all = 0;
  while (true) {
    auto sorted = drawn;
    std::ranges::sort(sorted);
    ++often[static_cast<double>(sorted[n / 2]) + 1];
    ++all;
    std::size_t digit = 0;
    while (digit < n && ++drawn[digit] == n)
      drawn[digit++] = 0;
    if (digit == n) break;
  }
  statistics::Interval interval;
  double below = 0;
  for (const auto& [median, count] : often) {
    if (below < 0.025 * all && below + count >= 0.025 * all) interval.low = median;
    if (below < 0.975 * all && below + count >= 0.975 * all) interval.high = median;
    below += count;
  }
  return interval;
}

std::vector<double> numbers(std::size_t n) {
  std::vector<double> values;
  for (std::size_t i = 1; i <= n; ++i)
    values.push_back(static_cast<double>(i));
  return values;
}

using Noise = std::function<double(std::mt19937_64&)>;

std::vector<double> draw(std::size_t n, std::mt19937_64& random, const Noise& noise, double factor = 1) {
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i)
    values.push_back(factor * noise(random));
  return values;
}

/// How often of 4000 times a difference is clear.
double clear_share(std::size_t n, const Noise& noise, double factor) {
  std::mt19937_64 random(n);
  int clear = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto a = draw(n, random, noise), b = draw(n, random, noise, factor);
    clear += statistics::evidence(a, b) == Evidence::clear ? 1 : 0;
  }
  return clear / 4000.0;
}

double quiet(std::mt19937_64& random) {
  return 1 + 0.02 * std::normal_distribution<>()(random);
}
double lognormal(std::mt19937_64& random) {
  return std::exp(0.5 * std::normal_distribution<>()(random));
}
/// A third of the repetitions share the CPU.
double shared(std::mt19937_64& random) {
  return quiet(random) * (random() % 3 == 0 ? 2 : 1);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_interval_is_that_of_all_resamples) {
  for (const std::size_t n : {1U, 3U, 5U, 7U}) {
    const auto expected = every_resample(n), found = statistics::median_interval(numbers(n));
    BOOST_TEST(found.low == expected.low, "n = " << n);
    BOOST_TEST(found.high == expected.high, "n = " << n);
  }
}

BOOST_AUTO_TEST_CASE(the_interval_holds_the_median_as_often_as_it_states) {
  // P(x_(l) <= median <= x_(u)) = sum of binomial(n, k) / 2^n for k = l ... u - 1: 0.979 of ranks 2 to 9 of
  // 10, 0.959 of ranks 6 to 15 of 20.
  const auto ten = statistics::median_interval(numbers(10)),
             twenty = statistics::median_interval(numbers(20));
  BOOST_TEST(ten.low == 2);
  BOOST_TEST(ten.high == 9);
  BOOST_TEST(twenty.low == 6);
  BOOST_TEST(twenty.high == 15);
}

BOOST_AUTO_TEST_CASE(a_summary_has_the_chosen_statistic) {
  const std::vector<double> values{4, 1, 2, 3, 90};
  using statistics::Statistic;
  const auto median = statistics::summarise(values), mean = statistics::summarise(values, Statistic::mean),
             least = statistics::summarise(values, Statistic::minimum);
  BOOST_TEST(median.value == 3);
  BOOST_TEST(median.low == 1);
  BOOST_TEST(median.high == 90);
  BOOST_TEST(mean.value == 20);
  BOOST_TEST(mean.high == 20); // no interval of the median around a mean
  BOOST_TEST(least.value == 1);
  BOOST_TEST((statistics::parse_statistic("minimum") == Statistic::minimum));
  BOOST_CHECK_THROW(static_cast<void>(statistics::parse_statistic("maximum")), Error);
}

BOOST_AUTO_TEST_CASE(overlapping_intervals_and_few_values_decide_nothing) {
  BOOST_TEST((statistics::evidence(std::vector<double>{1, 2}, std::vector<double>{8, 9}) == Evidence::few));
  BOOST_TEST((statistics::evidence(std::vector<double>{1, 2, 3}, std::vector<double>{3, 4, 5}) ==
              Evidence::overlap));
  BOOST_TEST(
      (statistics::evidence(std::vector<double>{1, 2, 3}, std::vector<double>{3.1, 4, 5}) == Evidence::weak));
  BOOST_TEST((statistics::evidence(std::vector<double>{1, 1, 1}, std::vector<double>{1, 1, 1}) ==
              Evidence::overlap));
  BOOST_TEST(
      (statistics::evidence(std::vector<double>{7, 7, 7}, std::vector<double>{8, 8, 8}) == Evidence::clear));
  BOOST_TEST(
      statistics::reservation(Evidence::overlap, 5) ==
      "not distinguishable from noise (intervals overlap); repeat with --repeat 10 on a quiet machine");
  BOOST_TEST(statistics::reservation(Evidence::clear, 5).empty());
}

BOOST_AUTO_TEST_CASE(noise_is_hardly_ever_a_difference) {
  for (const std::size_t n : {3U, 5U, 10U, 30U})
    for (const Noise& noise : {Noise(quiet), Noise(lognormal)})
      BOOST_TEST(clear_share(n, noise, 1) <= 0.002, "n = " << n); // 0.0005, and more than four deviations
  // Three repetitions, all of them disturbed on one side and none on the other, are no rarity: 2 in 100. No
  // test of three values finds that, so that of five is asked for here.
  for (const std::size_t n : {5U, 10U, 30U})
    BOOST_TEST(clear_share(n, shared, 1) <= 0.004, "n = " << n); // (2/3)^5 (1/3)^5 2 = 0.0011 of n = 5
}

BOOST_AUTO_TEST_CASE(an_effect_is_a_difference) {
  for (const std::size_t n : {5U, 10U, 30U}) {
    BOOST_TEST(clear_share(n, quiet, 1.2) > 0.95, "n = " << n);
    BOOST_TEST(clear_share(n, quiet, 0.5) > 0.99, "n = " << n);
  }
  BOOST_TEST(clear_share(3, quiet, 2) > 0.9);
  BOOST_TEST(clear_share(30, shared, 4) > 0.95);
}

BOOST_AUTO_TEST_SUITE_END()
