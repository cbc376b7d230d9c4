// Which totals become flags.
#include "base/host/disturbance.hpp"

#include <boost/test/unit_test.hpp>

namespace {
std::vector<recount::Flag> change(void (*make)(recount::host::Disturbance&)) {
  recount::host::Disturbance before;
  before.cpu = 1;
  before.steal_ns = before.throttled_ns = before.sibling_busy_ns = before.thermal_events = 0;
  before.frequency_khz = 3'000'000;
  recount::host::Disturbance after = before;
  after.monotonic_ns = 100'000'000;
  make(after);
  return recount::host::flags(before, after);
}
} // namespace

BOOST_AUTO_TEST_CASE(a_quiet_repetition_has_no_flags) {
  BOOST_TEST(change([](recount::host::Disturbance&) {}).empty());
  BOOST_TEST(change([](recount::host::Disturbance& d) {
               d.frequency_khz = 3'040'000;   // below two per cent
               d.sibling_busy_ns = 4'000'000; // below five per cent
             }).empty());
}

BOOST_AUTO_TEST_CASE(each_disturbance_is_named) {
  const auto only = [](void (*make)(recount::host::Disturbance&)) {
    const auto all = change(make);
    return all.size() == 1 ? all[0].text : std::to_string(all.size()) + " flags";
  };
  BOOST_TEST(only([](recount::host::Disturbance& d) { d.steal_ns = 20'000'000; }) == "steal 20 ms (20 %)");
  BOOST_TEST(only([](recount::host::Disturbance& d) { d.throttled_ns = 1'500'000; }) ==
             "throttled 1.5 ms (1.5 %)");
  BOOST_TEST(only([](recount::host::Disturbance& d) { d.sibling_busy_ns = 40'000'000; }) ==
             "sibling busy 40 %");
  BOOST_TEST(only([](recount::host::Disturbance& d) { d.thermal_events = 1; }) == "thermal throttling");
  BOOST_TEST(only([](recount::host::Disturbance& d) { d.frequency_khz = 2'400'000; }) ==
             "frequency 3000 to 2400 MHz");
  BOOST_TEST(only([](recount::host::Disturbance& d) { d.involuntary_switches = 1; }) == "preempted 1 time");
  BOOST_TEST(only([](recount::host::Disturbance& d) { d.involuntary_switches = 3; }) == "preempted 3 times");
  BOOST_TEST(only([](recount::host::Disturbance& d) {
               d.involuntary_switches = 3;
               d.waiting_ns = 4'200'000; // not known before: no share
             }) == "preempted 3 times");
}

BOOST_AUTO_TEST_CASE(a_preemption_has_the_time_in_the_run_queue) {
  recount::host::Disturbance before, after;
  before.waiting_ns = 1'000'000;
  after.waiting_ns = 5'200'000;
  after.involuntary_switches = 3;
  after.monotonic_ns = 100'000'000;
  const auto all = recount::host::flags(before, after);
  BOOST_TEST_REQUIRE(all.size() == 1U);
  BOOST_TEST((all[0].kind == recount::Flag::Kind::preempted && all[0].text == "preempted 3 times (4.2 %)"));
  BOOST_TEST(all[0].share.value() == 4.2, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(totals_of_two_cpus_are_not_compared) {
  const auto all = change([](recount::host::Disturbance& d) {
    d.cpu = 0;
    d.steal_ns = 90'000'000;
  });
  BOOST_TEST_REQUIRE(all.size() == 1U);
  BOOST_TEST((all[0].kind == recount::Flag::Kind::migrated));
}

BOOST_AUTO_TEST_CASE(what_a_machine_does_not_tell_is_no_flag) {
  recount::host::Disturbance before, after;
  after.steal_ns = 5'000'000'000;
  BOOST_TEST(recount::host::flags(before, after).empty());
}
