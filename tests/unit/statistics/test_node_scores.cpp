// Robust z-scores over machines.
#include "base/statistics/statistics.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

using namespace recount::statistics;

BOOST_AUTO_TEST_SUITE(node_scores)

namespace {

std::vector<NodeValue> exact(std::initializer_list<double> values) {
  std::vector<NodeValue> nodes;
  for (const double v : values)
    nodes.push_back({v, v, v});
  return nodes;
}

/// Box-Muller: the distributions of the standard library differ between libraries.
double normal(std::mt19937_64& random) {
  const auto uniform = [&] { return (static_cast<double>(random() >> 11U) + 0.5) * 0x1p-53; };
  return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * 3.141592653589793 * uniform());
}

} // namespace

BOOST_AUTO_TEST_CASE(by_hand) {
  const auto scores = score_nodes(exact({10, 10, 9, 11, 11, 12, 50}), 1, 0.05);
  BOOST_TEST(scores.median == 11);
  // deviations from 11: 1 1 2 0 0 1 39, so their median is 1
  BOOST_TEST(scores.deviation == 1.4826, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(scores.z.back() == 39 / 1.4826, boost::test_tools::tolerance(1e-12));
  BOOST_REQUIRE(scores.outliers.size() == 1U);
  BOOST_TEST(scores.outliers[0] == 6U);
}

BOOST_AUTO_TEST_CASE(the_limit_is_a_quantile_of_student) {
  // Tables of t: 2 degrees of freedom, two-sided 0.0125 = 0.05 / 4: 8.860; 8 degrees, 0.003125: 4.1458.
  BOOST_TEST(score_limit(4, 1) == 8.860, boost::test_tools::tolerance(1e-3));
  BOOST_TEST(score_limit(1000, 1) > 3.5);
  BOOST_TEST(score_limit(4, 20) > score_limit(4, 1));
}

BOOST_AUTO_TEST_CASE(three_machines_allow_no_conclusion) {
  const auto scores = score_nodes(exact({10, 10, 50}), 1, 0.05);
  BOOST_TEST(scores.limit == 0);
  BOOST_TEST(scores.outliers.empty());
  BOOST_TEST(score_nodes(exact({10, 10, 10, 50}), 1, 0.05).outliers.size() == 1U);
}

BOOST_AUTO_TEST_CASE(equal_counts_but_one_have_no_deviation) {
  const auto scores = score_nodes(exact({100, 100, 100, 0, 102}), 30, 0.05);
  BOOST_TEST(std::isinf(scores.z[3]));
  BOOST_REQUIRE(scores.outliers.size() == 1U); // 102 differs by less than 5 %
  BOOST_TEST(scores.outliers[0] == 3U);
}

BOOST_AUTO_TEST_CASE(overlapping_intervals_are_no_outlier) {
  auto nodes = exact({100, 101, 99, 200});
  BOOST_TEST(score_nodes(nodes, 1, 0.05).outliers.size() == 1U);
  nodes[3].low = 98;
  BOOST_TEST(score_nodes(nodes, 1, 0.05).outliers.empty());
}

BOOST_AUTO_TEST_CASE(equal_machines_are_seldom_outliers) {
  std::mt19937_64 random(21);
  for (const std::size_t n : {4U, 5U, 6U, 8U, 16U}) {
    int alarms = 0, usual = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      std::vector<NodeValue> nodes(n);
      for (NodeValue& node : nodes)
        node.value = node.low = node.high = 100 + normal(random);
      const auto scores = score_nodes(nodes, 1, 0);
      alarms += scores.outliers.empty() ? 0 : 1;
      double most = 0;
      for (const double z : scores.z)
        most = std::max(most, std::abs(z));
      usual += most > 3.5 ? 1 : 0;
    }
    BOOST_TEST_INFO(n << " machines");
    BOOST_TEST(alarms < 2000 * 0.07);
    BOOST_TEST(usual > 2000 * 0.08); // why the usual limit is not enough
  }
}

BOOST_AUTO_TEST_SUITE_END()
