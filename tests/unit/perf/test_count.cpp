#include <recount/count.hpp>

#include <boost/test/unit_test.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(counts)

BOOST_AUTO_TEST_CASE(a_full_count_is_not_scaled) {
  const Count count{100, 5000, 5000, {}};
  BOOST_TEST(*scale(count) == 100.0);
  BOOST_TEST(share(count) == 1.0);
  BOOST_TEST(!multiplexed(count));
}

BOOST_AUTO_TEST_CASE(a_quarter_of_the_time_is_scaled_by_four) {
  const Count count{100, 8000, 2000, {}};
  BOOST_TEST(*scale(count) == 400.0);
  BOOST_TEST(share(count) == 0.25);
  BOOST_TEST(multiplexed(count));
}

BOOST_AUTO_TEST_CASE(sum_over_targets_has_the_values_that_exist) {
  Count sum;
  add(sum, Count{std::nullopt, 10, 0, "never scheduled"});
  BOOST_TEST(!sum.value.has_value());
  BOOST_TEST(sum.reason->cause == "never scheduled");
  add(sum, Count{5, 20, 20, {}});
  add(sum, Count{std::nullopt, 10, 5, "ended"});
  add(sum, Count{7, 20, 10, {}});
  BOOST_TEST(*sum.value == 12U);
  BOOST_TEST(sum.reason.empty());
  BOOST_TEST(sum.enabled_ns == 60U);
  BOOST_TEST(sum.running_ns == 35U);
}

BOOST_AUTO_TEST_CASE(never_running_is_no_zero) {
  BOOST_TEST(!scale(Count{0, 8000, 0, {}}).has_value());
  BOOST_TEST(share(Count{0, 8000, 0, {}}) == 0.0);
  BOOST_TEST(!scale(Count{std::nullopt, 8000, 8000, "refused"}).has_value());
}

BOOST_AUTO_TEST_CASE(almost_no_counting_time_gives_no_estimate) {
  const Count instant{0, 400'000'000, 126, {}};
  BOOST_TEST(!scale(instant).has_value());
  BOOST_TEST(why_not_scaled(instant).cause == "scheduled for 126 ns of 400 ms, less than 10 ms and 1 %");
  BOOST_TEST((why_not_scaled(instant).code == ReasonCode::busy));
  BOOST_TEST(why_not_scaled(Count{7, 30'000'000'000, 9'999'999, {}}).cause ==
             "scheduled for 10 ms of 30.0 s, less than 10 ms and 1 %");
  BOOST_TEST(*scale(Count{7, 1'000'000'000, 10'000'000, {}}) == 700.0); // the least time, and the least share
  BOOST_TEST(*scale(Count{7, 126, 63, {}}) == 14.0);                    // a short region, half of it
  BOOST_TEST(*scale(Count{7, 126, 126, {}}) == 7.0);                    // a short region, all of it
  BOOST_TEST(*scale(Count{7, 100'000'000'000, 10'000'000, {}}) == 70'000.0);
  BOOST_TEST(why_not_scaled(Count{7, 126, 63, {}}).empty());
  BOOST_TEST(why_not_scaled(Count{std::nullopt, 8000, 0, "taken"}).cause == "taken");
  BOOST_TEST(why_not_scaled(Count{}).cause == "not counted");
  BOOST_TEST(why_not_scaled(Count{0, 8000, 0, {}}).cause.starts_with("scheduled for 0 ns of 8000 ns"));
}

BOOST_AUTO_TEST_CASE(scaling_uses_the_times_of_the_region_alone) {
  // First half all on the PMU, second half a quarter: totals would scale the second half by 8/5 only.
  const Count before{1000, 4000, 4000, {}}, after{1100, 8000, 5000, {}};
  const Count delta = difference(after, before);
  BOOST_TEST(*delta.value == 100U);
  BOOST_TEST(delta.enabled_ns == 4000U);
  BOOST_TEST(delta.running_ns == 1000U);
  BOOST_TEST(*scale(delta) == 400.0);
}

BOOST_AUTO_TEST_CASE(a_region_in_which_it_never_ran_is_not_counted) {
  const Count before{1000, 4000, 4000, {}}, after{1000, 8000, 4000, {}};
  const Count delta = difference(after, before);
  BOOST_TEST(!delta.value.has_value());
  BOOST_TEST(!delta.reason.empty());
  BOOST_TEST(!scale(delta).has_value());
}

BOOST_AUTO_TEST_CASE(not_counted_is_passed_on) {
  const Count none{std::nullopt, 10, 0, "taken"}, some{5, 20, 20, {}};
  BOOST_TEST(difference(none, some).reason->cause == "taken");
  BOOST_TEST(difference(some, none).reason->cause == "taken");
  BOOST_TEST(!difference(some, none).value.has_value());
  const Count fresh{std::nullopt, 0, 0, "not started"};
  BOOST_TEST(*difference(some, fresh).value == 5U); // nothing can have happened before the start
}

BOOST_AUTO_TEST_CASE(backwards) {
  const Count before{1000, 4000, 4000, {}};
  BOOST_TEST(!difference(Count{999, 5000, 5000, {}}, before).value.has_value());
  BOOST_TEST(!difference(Count{1001, 3000, 3000, {}}, before).value.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
