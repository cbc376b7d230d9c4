#include "observed.hpp"
#include "run/result/curves.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(curve_grouping)

namespace {
result::Observation observation(std::int64_t size, std::int64_t stride, double seconds, int repetition = 0) {
  auto o =
      test::observed("stride", {{"size", size}, {"stride", stride}}, "clock", "seconds", seconds, repetition);
  o.accesses = 1000;
  return o;
}

bool all(const result::Observation&) {
  return true;
}
} // namespace

BOOST_AUTO_TEST_CASE(repetitions_become_a_point_and_sizes_curves_in_order_of_number) {
  result::Results results;
  for (const int r : {0, 1, 2}) {
    results.observations.push_back(observation(16384, 2, 1e-6 * (r + 1), r));
    results.observations.push_back(observation(4096, 4, 4e-6, r));
    results.observations.push_back(observation(4096, 2, 2e-6, r));
  }
  const auto curves = result::curves(results, "stride", all, result::ns_per_access);
  BOOST_TEST_REQUIRE(curves.size() == 2U);
  BOOST_CHECK(curves[0].params == (result::Params{{"size", std::int64_t{4096}}}));
  BOOST_TEST_REQUIRE(curves[0].points.size() == 2U);
  BOOST_TEST(curves[0].points[0].x == 2.0);
  BOOST_TEST(curves[0].points[1].x == 4.0);
  BOOST_TEST(curves[0].points[1].y->median == 4.0, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(curves[1].points[0].y->n == 3U);
  BOOST_TEST(curves[1].points[0].y->median == 2.0, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(missing_value_is_a_gap_with_reason) {
  result::Results results;
  results.observations = {observation(4096, 1, 1e-6), observation(4096, 2, 1e-6)};
  results.observations[1].value = std::monostate{};
  results.observations[1].reason = "the counter never ran";
  const auto curves = result::curves(results, "stride", all, result::ns_per_access);
  BOOST_TEST_REQUIRE(curves.size() == 1U);
  BOOST_TEST(curves[0].points[0].y.has_value());
  BOOST_TEST(!curves[0].points[1].y.has_value());
  BOOST_TEST(curves[0].reason == "the counter never ran");
  BOOST_TEST(curves[0].counted());
}

BOOST_AUTO_TEST_CASE(a_failed_run_is_a_gap_in_its_own_curve_only) {
  result::Results results;
  results.observations = {observation(4096, 1, 1e-6), observation(8192, 1, 1e-6)};
  results.failures = {
      {"r", "stride", {{"size", std::int64_t{8192}}, {"stride", std::int64_t{2}}}, 0, "clock", "killed"}};
  const auto curves = result::curves(results, "stride", all, result::ns_per_access);
  BOOST_TEST_REQUIRE(curves.size() == 2U);
  BOOST_TEST(curves[0].points.size() == 1U);
  BOOST_TEST_REQUIRE(curves[1].points.size() == 2U);
  BOOST_TEST(!curves[1].points[1].y.has_value());
  BOOST_TEST(curves[1].reason == "killed");
}

BOOST_AUTO_TEST_CASE(machines_are_not_mixed) {
  result::Results results;
  result::Run a, b;
  a.id = "r";
  a.cpu = "one";
  b.id = "s";
  b.cpu = "other";
  results.runs = {a, b};
  results.observations = {observation(4096, 1, 1e-6), observation(4096, 1, 3e-6)};
  results.observations[1].run = "s";
  const auto curves = result::curves(results, "stride", all, result::ns_per_access);
  BOOST_TEST(curves.size() == 2U);
}

BOOST_AUTO_TEST_CASE(disturbance_and_multiplexing_are_kept) {
  result::Results results;
  results.observations = {observation(4096, 1, 1e-6), observation(4096, 1, 2e-6, 1)};
  results.observations[0].flags = {{Flag::Kind::steal, "steal 3 ms (30 %)", 30.0}};
  results.observations[1].enabled_ns = 1000;
  results.observations[1].running_ns = 250;
  const auto curves = result::curves(results, "stride", all, result::value);
  BOOST_TEST(curves[0].points[0].flagged == 1U);
  BOOST_TEST(curves[0].points[0].min_running == 0.25);
  BOOST_TEST(curves[0].points[0].y->n == 2U);
}

BOOST_AUTO_TEST_CASE(no_accesses_no_mean) {
  auto o = observation(4096, 1, 1e-6);
  o.accesses.reset();
  BOOST_TEST(!result::per_access(o).has_value());
  o.accesses = 0;
  BOOST_TEST(!result::per_access(o).has_value());
  BOOST_TEST(result::value(o).has_value());
}

BOOST_AUTO_TEST_CASE(only_what_differs_varies) {
  result::Results results;
  results.observations = {observation(4096, 1, 1), observation(8192, 1, 1)};
  const auto curves = result::curves(results, "stride", all, result::value);
  BOOST_CHECK(result::varying(curves) == std::vector<std::string>{"size"});
  const std::vector<result::Curve> one{curves.front()};
  BOOST_CHECK(result::varying(one).empty());
}

BOOST_AUTO_TEST_CASE(repetition_parameters_do_not_distinguish_curves) {
  result::Results results;
  results.observations = {observation(4096, 1, 1), observation(8192, 1, 1)};
  results.observations[0].params = {{"size", 4096}, {"stride", 1}, {"rounds", 10}};
  results.observations[1].params = {{"size", 8192}, {"stride", 1}, {"rounds", 1}};
  BOOST_CHECK(result::varying(result::curves(results, "stride", all, result::value)) ==
              std::vector<std::string>{"size"});
  results.observations[1].params = {{"size", 4096}, {"stride", 1}, {"rounds", 1}};
  BOOST_CHECK(result::varying(result::curves(results, "stride", all, result::value)) ==
              std::vector<std::string>{"rounds"});
}

BOOST_AUTO_TEST_SUITE_END()
