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
