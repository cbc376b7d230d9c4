// What is special about a machine: constraints, top-down metrics, two kinds of core.
#include "events.hpp"

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <sched.h>

using namespace recount::test;

BOOST_AUTO_TEST_SUITE(machines)

namespace {

constexpr std::uint64_t group_format =
    PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;

perf_event_attr of(std::uint32_t type, std::uint64_t config) {
  perf_event_attr attr = raw(config);
  attr.type = type;
  attr.read_format = group_format;
  return attr;
}
perf_event_attr member(std::uint64_t config) {
  perf_event_attr attr = of(PERF_TYPE_RAW, config);
  attr.disabled = 0;
  return attr;
}

void run_on(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  BOOST_REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
}

} // namespace

BOOST_AUTO_TEST_CASE(sandy_bridge_counts_some_events_in_one_counter_only, *only_on("snb")) {
  constexpr std::uint64_t pending = 0x0148, cycles_pending = 0x1000148, latency = 0x01cd, store = 0x02cd,
                          l1d = 0x0151;
  EventFd leader(of(PERF_TYPE_RAW, pending));
  BOOST_TEST(EventFd(member(cycles_pending), 0, -1, leader.fd()).error() == EINVAL); // counter 2, both
  EventFd third(member(latency), 0, -1, leader.fd());
  BOOST_TEST(third.error() == 0);
  BOOST_TEST(EventFd(member(store), 0, -1, leader.fd()).error() == EINVAL); // counter 3, both
  BOOST_TEST(EventFd(member(l1d), 0, -1, leader.fd()).error() == 0);
}

BOOST_AUTO_TEST_CASE(sandy_bridge_counts_operations_executed_anew, *only_on("snb")) {
  EventFd event(raw(0x8010));
  event.control(PERF_EVENT_IOC_ENABLE);
  execute_block("float_add_f64_scalar", 1000);
  BOOST_TEST(event.value() == 16000U);
}

BOOST_AUTO_TEST_CASE(metrics_count_in_a_group_that_slots_lead, *only_on("spr")) {
  constexpr std::uint64_t slots = 0x0400, metrics[] = {0x8000, 0x8100, 0x8200, 0x8300};
  BOOST_TEST(EventFd(of(PERF_TYPE_RAW, metrics[0])).error() == EINVAL);
  EventFd other(of(PERF_TYPE_RAW, 0x00c0));
  BOOST_TEST(EventFd(member(metrics[0]), 0, -1, other.fd()).error() == EINVAL);
  EventFd leader(of(PERF_TYPE_RAW, slots));
  std::vector<EventFd> group;
  for (const std::uint64_t metric : metrics)
    BOOST_TEST(group.emplace_back(member(metric), 0, -1, leader.fd()).error() == 0);
  leader.control(PERF_EVENT_IOC_ENABLE);
  execute_block("integer_multiply", 1000);
  leader.control(PERF_EVENT_IOC_DISABLE);
  const auto words = leader.words(); // nr, enabled, running, slots, the metrics
  BOOST_REQUIRE_EQUAL(words.size(), 8U);
  const auto sum = static_cast<double>(words[4] + words[5] + words[6] + words[7]);
  BOOST_TEST(sum == static_cast<double>(words[3]), boost::test_tools::tolerance(0.01));
  BOOST_TEST(words[7] > words[4]); // a chain of multiplications waits for itself
}

BOOST_AUTO_TEST_CASE(each_kind_of_core_counts_on_its_own_cpus, *only_on("adl")) {
  constexpr std::uint32_t core = 4, atom = 10;
  BOOST_TEST(EventFd(of(atom, 0x00c0), 0, 0).error() == ENOENT);
  BOOST_TEST(EventFd(of(core, 0x00c0), 0, 1).error() == ENOENT);
  BOOST_TEST(EventFd(of(atom, 0x00c0), 0, 1).error() == 0);
  for (const unsigned cpu : {0U, 1U}) {
    run_on(cpu);
    for (const std::uint32_t type : {core, atom}) {
      EventFd event(of(type, 0x00c0));
      event.control(PERF_EVENT_IOC_ENABLE);
      add_turns(10000);
      const auto words = event.words(); // nr, enabled, running, value
      BOOST_REQUIRE_EQUAL(words.size(), 4U);
      const bool here = (type == core) == (cpu == 0);
      BOOST_TEST(words[1] > 0U);
      BOOST_TEST((words[2] > 0) == here);
      BOOST_TEST((words[3] >= 180003U) == here);
      BOOST_TEST((words[3] == 0) == !here);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_generic_event_names_its_kind_of_core, *only_on("adl")) {
  run_on(1);
  constexpr std::uint64_t atom = std::uint64_t{10} << 32, nobody = std::uint64_t{77} << 32;
  EventFd event(hardware(atom | PERF_COUNT_HW_INSTRUCTIONS)), other(hardware(PERF_COUNT_HW_INSTRUCTIONS));
  BOOST_TEST(EventFd(hardware(nobody | PERF_COUNT_HW_INSTRUCTIONS)).error() == ENOENT);
  event.control(PERF_EVENT_IOC_ENABLE);
  other.control(PERF_EVENT_IOC_ENABLE);
  add_turns(1000);
  BOOST_TEST(event.value() >= 18003U);
  BOOST_TEST(other.value() == 0U); // of the performance core, by default
}

BOOST_AUTO_TEST_CASE(a_group_is_of_one_kind_of_core, *only_on("adl")) {
  run_on(0);
  EventFd leader(of(4, 0x00c0));
  auto sibling = of(10, 0x00c0);
  sibling.disabled = 0;
  BOOST_TEST(EventFd(sibling, 0, -1, leader.fd()).error() == EINVAL);
}

BOOST_AUTO_TEST_SUITE_END()
