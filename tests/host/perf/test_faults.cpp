// Page faults: a count that is known beforehand.
#include "helpers.hpp"
#include "needs.hpp"

#include <recount/group.hpp>

#include <boost/test/unit_test.hpp>
#include <vector>

using namespace recount;

BOOST_AUTO_TEST_SUITE(faults, *test::needs(test::no_software_events))

BOOST_AUTO_TEST_CASE(each_fresh_page_is_one_fault) {
  for (const std::size_t pages : {1U, 7U, 200U, 1001U}) {
    FreshPages memory(pages + 1);
    Group group(std::vector<std::string>{"perf::PAGE-FAULTS"});
    group.start();
    memory.touch(0, 1); // what the region itself faults in is behind us
    group.reset();
    memory.touch(1, pages + 1);
    group.stop();
    const Count count = group.read()[0];
    BOOST_TEST(count.value.value() == pages);
    BOOST_TEST(count.enabled_ns == count.running_ns);
    BOOST_TEST(count.running_ns > 0U);
    BOOST_TEST(*scale(count) == static_cast<double>(pages));
  }
}

BOOST_AUTO_TEST_CASE(a_group_counts_its_events_together) {
  FreshPages memory(301);
  Group group({"perf::PAGE-FAULTS", "perf::MINOR-FAULTS", "perf::MAJOR-FAULTS", "perf::TASK-CLOCK"});
  group.start();
  memory.touch(0, 1);
  group.reset();
  memory.touch(1, 301);
  group.stop();
  const auto& counts = group.read();
  BOOST_TEST(counts[0].value.value() == 300U);
  BOOST_TEST(counts[1].value.value() == 300U);
  BOOST_TEST(counts[2].value.value() == 0U);
  BOOST_TEST(counts[3].value.value() > 0U);
  for (const Count& count : counts)
    BOOST_TEST(count.running_ns == counts[0].running_ns);
}

BOOST_AUTO_TEST_CASE(stopped_is_stopped_and_starting_goes_on) {
  FreshPages memory(60);
  Group group(std::vector<std::string>{"perf::PAGE-FAULTS"});
  group.start();
  memory.touch(0, 1);
  group.reset();
  memory.touch(1, 11);
  group.stop();
  memory.touch(11, 31);
  const Count between = group.read()[0];
  BOOST_TEST(between.value.value() == 10U);
  BOOST_TEST(group.read()[0].enabled_ns == between.enabled_ns); // no time passes while stopped
  group.start();
  memory.touch(31, 36);
  BOOST_TEST(group.read()[0].value.value() == 15U); // while running
  memory.touch(36, 60);
  group.stop();
  const Count all = group.read()[0];
  BOOST_TEST(all.value.value() == 39U);
  BOOST_TEST(difference(all, between).value.value() == 29U);
}

BOOST_AUTO_TEST_CASE(not_started_is_not_zero) {
  Group group(std::vector<std::string>{"perf::PAGE-FAULTS"});
  BOOST_TEST(!group.read()[0].value.has_value());
  BOOST_TEST((group.read()[0].reason->code == ReasonCode::not_started));
  group.start();
  group.stop();
  BOOST_TEST(group.read()[0].value.has_value());
  BOOST_TEST(group.read()[0].reason.empty());
}

BOOST_AUTO_TEST_CASE(domains_are_kept_apart) {
  FreshPages memory(101);
  Group group({"perf::PAGE-FAULTS:u", "perf::PAGE-FAULTS:k", "perf::PAGE-FAULTS"});
  group.start();
  memory.touch(0, 1);
  group.reset();
  memory.touch(1, 101);
  group.stop();
  const auto& counts = group.read();
  BOOST_TEST(counts[0].value.value() == 100U);
  BOOST_TEST(counts[1].value.value() == 0U);
  BOOST_TEST(counts[2].value.value() == 100U);
}

BOOST_AUTO_TEST_CASE(counters_give_the_order_of_their_events) {
  FreshPages memory(51);
  Counters counters({"perf::MAJOR-FAULTS", "perf::PAGE-FAULTS", "perf::MINOR-FAULTS"});
  BOOST_TEST(counters.groups().size() == 1U);
  BOOST_TEST(counters.notes().empty());
  counters.start();
  memory.touch(0, 1);
  counters.reset();
  memory.touch(1, 51);
  counters.stop();
  BOOST_TEST(counters.events()[1].name == "perf::PAGE-FAULTS");
  BOOST_TEST(counters.read()[0].value.value() == 0U);
  BOOST_TEST(counters.read()[1].value.value() == 50U);
}

BOOST_AUTO_TEST_CASE(groups_beside_each_other_and_moved) {
  FreshPages memory(21);
  Group first(std::vector<std::string>{"perf::PAGE-FAULTS"});
  Group second = Group(std::vector<std::string>{"perf::PAGE-FAULTS"});
  first.start();
  second.start();
  memory.touch(0, 1);
  first.reset();
  second.reset();
  memory.touch(1, 21);
  Group moved = std::move(first);
  moved.stop();
  second.stop();
  BOOST_TEST(moved.read()[0].value.value() == second.read()[0].value.value());
}

BOOST_AUTO_TEST_SUITE_END()
