#include "base/statistics/statistics.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

BOOST_AUTO_TEST_SUITE(statistics)

// Reference values: R 4.2, quantile(x, p, type = 7), mad(x, constant = 1).
BOOST_AUTO_TEST_CASE(quantiles_are_of_type_7) {
  const std::array values{15.0, 20.0, 35.0, 40.0, 50.0};
  BOOST_TEST(recount::statistics::quantile(values, 0.0) == 15.0);
  BOOST_TEST(recount::statistics::quantile(values, 0.1) == 17.0, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(recount::statistics::quantile(values, 0.4) == 29.0, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(recount::statistics::quantile(values, 0.5) == 35.0);
  BOOST_TEST(recount::statistics::quantile(values, 0.9) == 46.0, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(recount::statistics::quantile(values, 1.0) == 50.0);
}

BOOST_AUTO_TEST_CASE(the_order_of_the_values_does_not_matter) {
  const std::array values{50.0, 15.0, 40.0, 20.0, 35.0};
  BOOST_TEST(recount::statistics::quantile(values, 0.1) == 17.0, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(recount::statistics::median(values) == 35.0);
}

BOOST_AUTO_TEST_CASE(the_median_of_an_even_number_is_the_middle) {
  const std::array values{4.0, 1.0, 3.0, 2.0};
  BOOST_TEST(recount::statistics::median(values) == 2.5);
  BOOST_TEST(recount::statistics::summarise(values).median == 2.5);
}

BOOST_AUTO_TEST_CASE(a_summary_of_an_outlier_keeps_median_and_mad_calm) {
  const std::array values{1.0, 2.0, 3.0, 4.0, 100.0};
  const recount::statistics::Summary s = recount::statistics::summarise(values);
  BOOST_TEST(s.n == 5U);
  BOOST_TEST(s.mean == 22.0);
  BOOST_TEST(s.median == 3.0);
  BOOST_TEST(s.min == 1.0);
  BOOST_TEST(s.max == 100.0);
  BOOST_TEST(s.mad == 1.0);
  BOOST_TEST(recount::statistics::median_absolute_deviation(values) == 1.0);
  BOOST_TEST(recount::statistics::mean(values) == 22.0);
  BOOST_TEST(s.p10 == 1.4, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(s.p90 == 61.6, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(one_value_is_its_own_summary) {
  const std::array values{7.5};
  const recount::statistics::Summary s = recount::statistics::summarise(values);
  for (const double v : {s.mean, s.median, s.min, s.max, s.p10, s.p90})
    BOOST_TEST(v == 7.5);
  BOOST_TEST(s.mad == 0.0);
}

BOOST_AUTO_TEST_CASE(large_counts_keep_their_digits) {
  const std::array values{9007199254740991.0, 9007199254740991.0};
  BOOST_TEST(recount::statistics::summarise(values).median == 9007199254740991.0);
}

BOOST_AUTO_TEST_CASE(outliers_are_ten_standard_deviations_away) {
  using Indices = std::vector<std::size_t>;
  const auto found = [](std::vector<double> values) { return recount::statistics::outliers(values); };
  BOOST_TEST((found({10, 10.1, 9.9, 10, 30}) == Indices{4}));  // deviations 0, 0.1, 0.1, 0, 20: median 0.1
  BOOST_TEST((found({10, 11.4, 9.9, 10.1, 10}) == Indices{})); // 14 of them
  BOOST_TEST((found({8.5, 10.1, 9.9, 10, 10}) == Indices{0})); // 15
  BOOST_TEST((found({1000, 1000, 1000, 1014, 1000}).empty())); // equal but one, by 1.4 %
  BOOST_TEST((found({1000, 1000, 1000, 1015, 1000}).size() == 1U));
  BOOST_TEST(found({1, 1, 1, 100}).empty()); // too few
}

BOOST_AUTO_TEST_CASE(standard_deviation_is_that_of_a_sample) {
  BOOST_TEST(recount::statistics::standard_deviation(std::array{1.0, 2.0, 3.0, 6.0}) == std::sqrt(14.0 / 3));
  BOOST_CHECK_THROW(static_cast<void>(recount::statistics::standard_deviation(std::array{1.0})),
                    std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(nonsense_is_refused) {
  const std::vector<double> none;
  const std::array odd{1.0, std::numeric_limits<double>::quiet_NaN()};
  const std::array fine{1.0, 2.0};
  BOOST_CHECK_THROW(static_cast<void>(recount::statistics::summarise(none)), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(recount::statistics::median(none)), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(recount::statistics::mean(odd)), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(recount::statistics::quantile(fine, 1.01)), std::invalid_argument);
  BOOST_CHECK_THROW(static_cast<void>(recount::statistics::quantile(fine, -0.1)), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
