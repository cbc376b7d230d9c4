// What a group counts, to the instruction.
#include "loop.hpp"

#include <recount/group.hpp>

#include <boost/test/unit_test.hpp>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <vector>

using namespace recount;
using namespace recount::test;

namespace {

/// Each event's count over so many rounds of spin().
[[gnu::noipa]] std::vector<std::uint64_t> counted(Group& group, std::uint64_t rounds) {
  group.reset();
  group.start();
  spin(rounds);
  group.stop();
  std::vector<std::uint64_t> values;
  for (const Count& count : group.read()) {
    BOOST_TEST(!multiplexed(count));
    values.push_back(count.value.value());
  }
  return values;
}

/// The first event's count over two regions, with a third between them that is not counted.
[[gnu::noipa]] std::uint64_t counted_twice(Group& group, std::uint64_t rounds) {
  group.reset();
  for (int i = 0; i < 2; ++i) {
    group.start();
    spin(rounds);
    group.stop();
    spin(100);
  }
  return group.read()[0].value.value();
}

constexpr std::uint64_t many = 1'000'000;

} // namespace

BOOST_AUTO_TEST_SUITE(groups)

BOOST_AUTO_TEST_CASE(instructions_are_counted_exactly) {
  Group group({"perf::INSTRUCTIONS"}, Domain::user);
  counted(group, 1); // binds symbols
  const std::uint64_t bias = counted(group, 1)[0] - 2;
  BOOST_TEST_MESSAGE("instructions of start and stop that are counted with the region: " << bias);
  BOOST_TEST(bias < 60U);
  for (int i = 0; i < 5; ++i)
    BOOST_TEST(counted(group, many)[0] == 2 * many + bias);
}

BOOST_AUTO_TEST_CASE(cycles_are_instructions_times_the_machines_factor) {
  Group group({"perf::CYCLES", "perf::INSTRUCTIONS"}, Domain::user);
  counted(group, 1);
  const auto one = counted(group, 1);
  const auto all = counted(group, many);
  BOOST_TEST(all[1] - one[1] == 2 * (many - 1));
  BOOST_TEST(all[0] - one[0] == 2 * (many - 1) * cycles_per_instruction());
}

BOOST_AUTO_TEST_CASE(events_come_in_the_order_asked_for) {
  Group group({"perf::INSTRUCTIONS", "perf::PAGE-FAULTS", "perf::CYCLES", "perf::INSTRUCTIONS"},
              Domain::user);
  counted(group, 1);
  const auto one = counted(group, 1);
  const auto all = counted(group, many);
  BOOST_TEST(all[0] - one[0] == 2 * (many - 1));
  BOOST_TEST(all[1] == 0U);
  BOOST_TEST(all[2] - one[2] == 2 * (many - 1) * cycles_per_instruction());
  BOOST_TEST(all[3] == all[0]);
}

BOOST_AUTO_TEST_CASE(six_counters_and_the_cycle_counter_count_together) {
  std::vector<std::string> names(6, "perf::INSTRUCTIONS");
  names.emplace_back("perf::CYCLES");
  Group group(names, Domain::user);
  counted(group, 1);
  const auto one = counted(group, 1);
  const auto all = counted(group, many);
  for (std::size_t i = 0; i < 6; ++i)
    BOOST_TEST(all[i] - one[i] == 2 * (many - 1));
  BOOST_TEST(all[6] - one[6] == 2 * (many - 1) * cycles_per_instruction());
}

BOOST_AUTO_TEST_CASE(what_the_machine_does_not_model_opens_and_counts_nothing) {
  Group group({"perf::INSTRUCTIONS", "r04"}, Domain::user); // L1D_CACHE
  counted(group, 1);
  BOOST_TEST(counted(group, many)[1] == 0U);
}

BOOST_AUTO_TEST_CASE(intervals_follow_one_another_without_a_gap) {
  Group group({"perf::INSTRUCTIONS"}, Domain::user), whole({"perf::INSTRUCTIONS"}, Domain::user);
  whole.start();
  group.start();
  group.reset();
  const std::uint64_t from = whole.read()[0].value.value();
  std::uint64_t sum = 0;
  for (int i = 0; i < 10; ++i) {
    spin(1000);
    sum += group.read_and_reset()[0].value.value();
  }
  const std::uint64_t to = whole.read()[0].value.value();
  BOOST_TEST(sum > 10 * 2000U);
  BOOST_TEST(sum < to - from);
  BOOST_TEST(to - from - sum < 1000U); // what lies between the first and the last reads of the two
}

BOOST_AUTO_TEST_CASE(a_reset_without_a_call_is_as_exact_as_one_with) {
  Group group({"perf::INSTRUCTIONS"}, Domain::user);
  const auto with = [&](bool read_before) {
    group.start();
    spin(1000);
    group.stop();
    if (read_before) group.read(); // the reset then has nothing to ask
    return counted(group, many)[0];
  };
  with(true);
  const std::uint64_t once = with(true);
  BOOST_TEST(with(true) == once);
  // A descriptor that was handed out may have been used.
  ioctl(group.fd(), PERF_EVENT_IOC_ENABLE, 0);
  spin(1000);
  ioctl(group.fd(), PERF_EVENT_IOC_DISABLE, 0);
  BOOST_TEST(counted(group, many)[0] == once);
}

BOOST_AUTO_TEST_CASE(stopping_and_going_on_adds_up) {
  Group group({"perf::INSTRUCTIONS"}, Domain::user);
  counted_twice(group, 1);
  BOOST_TEST(counted_twice(group, many) - counted_twice(group, 1) == 4 * (many - 1));
}

BOOST_AUTO_TEST_SUITE_END()
