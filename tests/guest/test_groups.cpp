// What a group counts, to the instruction.
#include "loop.hpp"

#include <recount/group.hpp>

#include <boost/test/unit_test.hpp>
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

BOOST_AUTO_TEST_CASE(stopping_and_going_on_adds_up) {
  Group group({"perf::INSTRUCTIONS"}, Domain::user);
  counted_twice(group, 1);
  BOOST_TEST(counted_twice(group, many) - counted_twice(group, 1) == 4 * (many - 1));
}

BOOST_AUTO_TEST_SUITE_END()
