// What counters could see of a command, from their enabled time and its processor time.
#include "count/perf/removed.hpp"
#include "run/attached.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;
using namespace recount::stat;
using namespace std::chrono_literals;

namespace {
CounterReading at(std::chrono::nanoseconds used, std::chrono::nanoseconds enabled, std::uint64_t value) {
  const auto ns = static_cast<std::uint64_t>(enabled.count());
  return {{{value, ns, ns, {}}}, used, used};
}
const CounterReading held = at(100us, 0ns, 0);
} // namespace

BOOST_AUTO_TEST_CASE(set_user_id_program_has_no_counts) {
  BOOST_TEST(between(held, at(1ms, 900us, 0)).counts[0].value.has_value());
  const auto interval = between(held, at(1ms, 900us, 0), true);
  BOOST_TEST(!interval.counts[0].value.has_value());
  BOOST_TEST(interval.removed.cause.find("set-user-ID") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(removed_counter_has_no_value) {
  const auto interval = between(held, at(1000us, 10us, 0)); // a set-user-ID /bin/true
  BOOST_TEST(!interval.counts[0].value.has_value());
  BOOST_TEST(
      interval.counts[0].reason->cause.starts_with("Linux removed the counters after 0.01 ms of 0.9 ms"));
}

BOOST_AUTO_TEST_CASE(a_short_program_is_counted) {
  const auto interval = between(held, at(1000us, 490us, 26)); // a static program that only returns
  BOOST_TEST(interval.counts[0].value.value() == 26U);
  BOOST_TEST(interval.incomplete.empty());
}

BOOST_AUTO_TEST_CASE(sleeping_program_is_counted) {
  BOOST_TEST(between(held, at(100us, 0ns, 0)).counts[0].value.value() == 0U);
}

BOOST_AUTO_TEST_CASE(partly_counted_run_is_flagged) {
  const auto interval = between(held, at(60ms, 30ms, 5));
  BOOST_TEST(interval.counts[0].value.value() == 5U);
  BOOST_TEST(interval.incomplete.starts_with("incomplete: counted in 30 ms of 59.9 ms"));
}

BOOST_AUTO_TEST_CASE(starting_processes_leaves_nothing_out) {
  // 900 subshells of bash, 3 times what was measured in a virtual machine; the same time in a program with
  // few switches.
  CounterReading end = at(210600us, 173100us, 73413);
  end.switches = 1881;
  BOOST_TEST(between(held, end).incomplete.empty());
  end.switches = 20;
  BOOST_TEST(between(held, end).incomplete.starts_with("incomplete: counted in 173 ms of 21"));
}

BOOST_AUTO_TEST_CASE(attached_process_has_no_cpu_time) {
  BOOST_TEST(between(at(0ns, 0ns, 0), at(0ns, 0ns, 0)).counts[0].value.value() == 0U);
}

BOOST_AUTO_TEST_CASE(interval_without_cpu_time_follows_the_whole_run) {
  const CounterReading before = at(20ms, 10us, 0), now = at(20ms, 10us, 0);
  BOOST_TEST(!between(held, before, now, false).counts[0].value.has_value());
  const CounterReading asleep = at(20ms, 19ms, 7);
  BOOST_TEST(between(held, asleep, asleep, false).counts[0].value.value() == 0U);
}

BOOST_AUTO_TEST_CASE(interval_ending_within_exec_is_counted) {
  BOOST_TEST(between(held, held, at(400us, 100us, 0), false).counts[0].value.value() == 0U);
}

BOOST_AUTO_TEST_CASE(long_exec_at_the_start_is_counted) {
  BOOST_TEST(between(held, held, at(40ms, 1ms, 3), false).counts[0].value.value() == 3U);
  BOOST_TEST(!between(held, held, at(140ms, 1ms, 3), false).counts[0].value.has_value());
  const CounterReading counted = at(5ms, 1ms, 3);
  BOOST_TEST(!between(held, counted, at(40ms, 1ms, 3), false).counts[0].value.has_value());
}

BOOST_AUTO_TEST_CASE(command_shorter_than_interval_follows_the_whole_run) {
  BOOST_TEST(!between(held, held, at(1000us, 10us, 0), true).counts[0].value.has_value());
}

BOOST_AUTO_TEST_CASE(cpu_time_of_descendants_is_known_at_the_end) {
  // A shell that waited for a program: its own time before, that of both once it has ended.
  const CounterReading before = at(2ms, 60ms, 100), end = at(64ms, 62ms, 110);
  BOOST_TEST(between(held, before, end, true).counts[0].value.value() == 10U);
}
