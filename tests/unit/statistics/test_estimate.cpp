#include "base/random.hpp"
#include "base/statistics/statistics.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <stdexcept>

BOOST_AUTO_TEST_SUITE(estimates)

namespace {

/// Roughly normal numbers of mean 0 and deviation 1.
double bell(std::uint64_t& state) {
  double sum = 0;
  for (int i = 0; i < 12; ++i)
    sum += static_cast<double>(recount::base::random_below(state, 1'000'000)) / 1e6;
  return sum - 6;
}

} // namespace

BOOST_AUTO_TEST_CASE(equal_values_have_no_interval) {
  const auto e = recount::statistics::estimate({{5, 5}, {5}}).value();
  BOOST_TEST(e.median == 5);
  BOOST_TEST(e.low == 5);
  BOOST_TEST(e.high == 5);
  BOOST_TEST(e.n == 3U);
  BOOST_TEST(!recount::statistics::estimate({}).has_value());
  BOOST_TEST(!recount::statistics::estimate({{}, {}}).has_value());
  BOOST_CHECK_THROW(
      static_cast<void>(recount::statistics::estimate({{std::numeric_limits<double>::quiet_NaN()}})),
      std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_interval) {
  const recount::statistics::Groups groups{{1, 2, 9}, {3, 4}, {}, {2, 8, 5}};
  const auto a = recount::statistics::estimate(groups, 3).value(),
             b = recount::statistics::estimate(groups, 3).value();
  BOOST_TEST(a.low == b.low);
  BOOST_TEST(a.high == b.high);
  BOOST_TEST(a.median == 3.5);
  BOOST_TEST(a.low <= a.median);
  BOOST_TEST(a.high >= a.median);
}

// All resamples of up to five values: more than 5 % have the least as their median, of six fewer.
BOOST_AUTO_TEST_CASE(few_values_have_their_range_as_interval) {
  for (std::size_t n = 2; n <= 6; ++n) {
    std::size_t all = 1, least = 0;
    for (std::size_t i = 0; i < n; ++i)
      all *= n;
    for (std::size_t code = 0; code < all; ++code) {
      std::size_t zeros = 0;
      for (std::size_t rest = code, i = 0; i < n; ++i, rest /= n)
        zeros += rest % n == 0 ? 1 : 0;
      least += zeros > n / 2 ? 1 : 0;
    }
    BOOST_TEST((static_cast<double>(least) > 0.05 * static_cast<double>(all)) == (n <= 5));
    if (n > 5) break;
    recount::statistics::Groups one(1), single;
    for (std::size_t i = 0; i < n; ++i) {
      one.front().push_back(static_cast<double>(i * i));
      single.push_back({static_cast<double>(i * i)});
    }
    for (const auto& groups : {one, single}) {
      const auto e = recount::statistics::estimate(groups).value();
      BOOST_TEST(e.low == 0);
      BOOST_TEST(e.high == static_cast<double>((n - 1) * (n - 1)));
    }
  }
}

BOOST_AUTO_TEST_CASE(one_wild_value_moves_nothing) {
  const auto e =
      recount::statistics::estimate({{10, 10, 10, 10}, {10, 10, 10, 10}, {10, 10, 900, 10}}).value();
  BOOST_TEST(e.median == 10);
  BOOST_TEST(e.high == 10);
}

BOOST_AUTO_TEST_CASE(the_interval_holds_the_truth_nine_times_in_ten) {
  std::uint64_t state = 7;
  int hits = 0;
  constexpr int cases = 300;
  for (int c = 0; c < cases; ++c) {
    recount::statistics::Groups groups;
    for (int g = 0; g < 12; ++g) { // groups differ among themselves, too
      const double own = bell(state);
      auto& group = groups.emplace_back();
      for (int i = 0; i < 4; ++i)
        group.push_back(100 + own + 0.3 * bell(state));
    }
    const auto e = recount::statistics::estimate(groups, static_cast<std::uint64_t>(c)).value();
    hits += e.low <= 100 && 100 <= e.high ? 1 : 0;
  }
  BOOST_TEST(hits > cases * 80 / 100); // values taken for independent would hold it six times in ten
}

BOOST_AUTO_TEST_CASE(bands_hold_decide_or_do_not) {
  const recount::statistics::Estimate e{10, 9, 11, 20};
  BOOST_TEST((recount::statistics::held(e, {9, 11}) == recount::statistics::Held::inside));
  BOOST_TEST((recount::statistics::held(e, {9.5, 20}) == recount::statistics::Held::undecided));
  BOOST_TEST((recount::statistics::held(e, {8, 10.5}) == recount::statistics::Held::undecided));
  BOOST_TEST((recount::statistics::held(e, {11.5, 20}) == recount::statistics::Held::outside));
  BOOST_TEST((recount::statistics::held(e, {0, 8}) == recount::statistics::Held::outside));
  BOOST_TEST((recount::statistics::held(e, {10.2, 10.4}) ==
              recount::statistics::Held::undecided)); // wider than the band
  const recount::statistics::Estimate noisy{10, 9, 11, 20, 2};
  BOOST_TEST((recount::statistics::held(noisy, {9, 11}) == recount::statistics::Held::inside));
  BOOST_TEST((recount::statistics::held(noisy, {11.5, 20}) == recount::statistics::Held::undecided));
  BOOST_TEST((recount::statistics::held(noisy, {0, 8.5}) == recount::statistics::Held::undecided));
  BOOST_TEST((recount::statistics::held(noisy, {12.5, 20}) == recount::statistics::Held::outside));
}

BOOST_AUTO_TEST_CASE(chance_is_nine_standard_errors_of_the_median) {
  const auto chance = [](const std::vector<double>& values) {
    return recount::statistics::estimate({values}).value().chance;
  };
  BOOST_TEST(chance({5, 5, 5, 5}) == 0);
  BOOST_TEST(chance({9, 11, 9, 11}) == 9 * 1.2533 * std::sqrt(4.0 / 3 / 4),
             boost::test_tools::tolerance(1e-9));
  BOOST_TEST(chance({9, 11, 9, 11, 10, 10, 1e6}) < 10); // the outlier left out
}

BOOST_AUTO_TEST_CASE(noise_alone_is_never_outside) {
  std::uint64_t state = 11;
  int outside = 0, interval_outside = 0;
  constexpr int cases = 3000;
  for (int c = 0; c < cases; ++c) {
    recount::statistics::Groups groups(4);
    for (auto& group : groups)
      for (int i = 0; i < 4; ++i)
        group.push_back(100 + bell(state));
    auto e = recount::statistics::estimate(groups, static_cast<std::uint64_t>(c)).value();
    outside += recount::statistics::held(e, {100, 100}) == recount::statistics::Held::outside ? 1 : 0;
    e.chance = 0;
    interval_outside +=
        recount::statistics::held(e, {100, 100}) == recount::statistics::Held::outside ? 1 : 0;
  }
  BOOST_TEST(outside == 0);
  BOOST_TEST(interval_outside > 100);
}

BOOST_AUTO_TEST_SUITE_END()
