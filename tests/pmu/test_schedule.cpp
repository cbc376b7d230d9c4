// Counters run out as Linux lets them run out, on the simulated Skylake: four general counters, three fixed
// ones.
#include "events.hpp"

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

using namespace recount::test;

BOOST_AUTO_TEST_SUITE(schedule)

namespace {

// Events that general counters alone can count, of Intel's list for Skylake; and two that fewer can.
constexpr std::uint64_t plain[] = {0x00c4, 0x00c5, 0x0151, 0xe124, 0xe224, 0x01c7, 0x02c7, 0x04c7, 0x0e08};
constexpr std::uint64_t only_counter_1 = 0x01c0, only_fixed_2 = 0x0300, fixed_or_general = 0x00c0;

bool has(const char* option) {
  const char* const options = std::getenv("RECOUNT_PMU_OPTIONS");
  const char* const changes = std::getenv("RECOUNT_PMU_CHANGES");
  return (options != nullptr && std::string(options).find(option) != std::string::npos) ||
         (changes != nullptr && std::string(changes).find(option) != std::string::npos);
}

struct Group {
  std::vector<EventFd> fds;
  int error = 0;

  Group(std::initializer_list<std::uint64_t> codes, bool pinned = false) {
    for (const std::uint64_t code : codes) {
      perf_event_attr attr = raw(code);
      attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
      attr.disabled = fds.empty();
      attr.pinned = pinned && fds.empty();
      fds.emplace_back(attr, 0, -1, fds.empty() ? -1 : fds.front().fd());
      if (fds.back().error() != 0) error = fds.back().error();
    }
  }
  void enable() { fds.front().control(PERF_EVENT_IOC_ENABLE); }
  std::vector<std::uint64_t> words() { return fds.front().words(); }
};

/// Some 10 ms of the simulated machine, or of a real one, for each of N.
constexpr std::int64_t turns_per_slice = 500'000;
std::int64_t execute_slices(int n) {
  for (std::int64_t i = 0; i < n * turns_per_slice; i += 1000)
    add_turns(1000);
  return n * turns_per_slice;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_group_of_more_than_there_are_counters_is_refused) {
  const bool alone = has("general 8");
  BOOST_TEST(Group({plain[0], plain[1], plain[2], plain[3]}).error == 0);
  BOOST_TEST(Group({plain[0], plain[1], plain[2], plain[3], plain[4]}).error == (alone ? 0 : EINVAL));
  BOOST_TEST(Group({plain[0], plain[1], plain[2], plain[3], plain[4], plain[5], plain[6], plain[7]}).error ==
             (alone ? 0 : EINVAL));
  BOOST_TEST(Group({plain[0], plain[1], plain[2], plain[3], plain[4], plain[5], plain[6], plain[7], plain[8]})
                 .error == EINVAL);
}

BOOST_AUTO_TEST_CASE(fixed_counters_come_on_top) {
  BOOST_TEST(Group({fixed_or_general, 0x003c, only_fixed_2, plain[0], plain[1], plain[2], plain[3]}).error ==
             0);
}

BOOST_AUTO_TEST_CASE(what_a_single_counter_counts_is_there_once_in_a_group) {
  BOOST_TEST(Group({only_counter_1, plain[0]}).error == 0);
  BOOST_TEST(Group({only_counter_1, only_counter_1}).error == EINVAL);
  BOOST_TEST(Group({only_fixed_2, only_fixed_2}).error == EINVAL);
  BOOST_TEST(Group({fixed_or_general, fixed_or_general}).error == 0);
}

BOOST_AUTO_TEST_CASE(siblings_that_are_off_are_not_in_the_way_until_they_are_enabled) {
  // collect_events() of arch/x86/events/core.c leaves them out: such a group opens, and never runs.
  std::vector<EventFd> group;
  for (const std::uint64_t code : plain) {
    perf_event_attr attr = raw(code);
    attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    BOOST_TEST(group.emplace_back(attr, 0, -1, group.empty() ? -1 : group.front().fd()).error() == 0);
  }
  group.front().control(PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
  execute_slices(1);
  const auto words = group.front().words();
  BOOST_REQUIRE_EQUAL(words.size(), 12U);
  BOOST_TEST(words[1] > 0U);
  BOOST_TEST(words[2] == 0U);
}

BOOST_AUTO_TEST_CASE(groups_that_do_not_fit_together_take_turns) {
  Group one({plain[0], plain[1], plain[2]}), other({plain[0], plain[3], plain[4]}),
      third({plain[0], plain[5], plain[6]});
  BOOST_REQUIRE(one.error + other.error + third.error == 0);
  for (Group* group : {&one, &other, &third})
    group->enable();
  const auto turns = static_cast<double>(execute_slices(24));
  for (Group* group : {&one, &other, &third}) {
    const auto words = group->words(); // nr, enabled, running, values
    BOOST_REQUIRE_EQUAL(words.size(), 6U);
    const double share = static_cast<double>(words[2]) / static_cast<double>(words[1]);
    if (has("general 8")) continue;
    BOOST_TEST(words[2] < words[1]);
    BOOST_TEST(share > 0.1);
    BOOST_TEST(share < 0.7);
    BOOST_TEST(static_cast<double>(words[3]) / share == turns,
               boost::test_tools::tolerance(0.2)); // one branch per iteration
  }
}

BOOST_AUTO_TEST_CASE(an_event_of_linux_runs_only_while_its_group_does) {
  if (has("general 8")) return;
  Group other({plain[0], plain[3], plain[4]});
  perf_event_attr attr = raw(plain[0]);
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  EventFd leader(attr);
  std::vector<EventFd> siblings;
  for (perf_event_attr member : {raw(plain[1]), raw(plain[2]), software()}) {
    member.disabled = 0;
    BOOST_REQUIRE_EQUAL(siblings.emplace_back(member, 0, -1, leader.fd()).error(), 0);
  }
  EventFd whole(software());
  other.enable();
  whole.control(PERF_EVENT_IOC_ENABLE);
  leader.control(PERF_EVENT_IOC_ENABLE);
  execute_slices(12);
  const auto words = leader.words(); // nr, enabled, running, three values, nanoseconds of the task clock
  BOOST_REQUIRE_EQUAL(words.size(), 7U);
  BOOST_TEST(words[2] < words[1]);
  const auto share = [](std::uint64_t part, std::uint64_t all) {
    return static_cast<double>(part) / static_cast<double>(all);
  };
  BOOST_TEST(share(words[6], whole.value()) == share(words[2], words[1]), boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(a_count_of_another_process_never_falls) {
  const pid_t child = fork();
  if (child == 0)
    while (true)
      asm volatile(""); // a loop with no effect may be removed
  const auto open = [&](std::initializer_list<std::uint64_t> codes) {
    std::vector<EventFd> group;
    for (const std::uint64_t code : codes) {
      perf_event_attr attr = raw(code);
      attr.disabled = 0;
      attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
      group.emplace_back(attr, child, -1, group.empty() ? -1 : group.front().fd());
    }
    return group;
  };
  auto one = open({plain[0], plain[1], plain[2]});
  const auto wait = [&](std::uint64_t enabled) { // nanoseconds of the child's time
    for (;;)
      if (const auto words = one.front().words(); words.at(1) >= enabled) return words;
  };
  const auto alone = wait(5'000'000);
  const auto other = open({plain[3], plain[4]});
  const auto shared = wait(alone[1] + 5'000'000);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  BOOST_TEST(alone[1] == alone[2]);
  BOOST_TEST(shared[3] > alone[3]);
  BOOST_TEST(shared[2] > alone[2]);
  if (!has("general 8")) BOOST_TEST(shared[2] < shared[1]);
}

BOOST_AUTO_TEST_CASE(a_pinned_group_goes_first_and_one_that_finds_no_counter_is_in_error) {
  if (has("general 8")) return;
  Group first({plain[0], plain[1], plain[2]}, true), second({plain[0], plain[3], plain[4]}, true),
      flexible({plain[5], plain[6]});
  for (Group* group : {&first, &second, &flexible})
    group->enable();
  execute_slices(2);
  const auto words = first.words();
  BOOST_REQUIRE_EQUAL(words.size(), 6U);
  BOOST_TEST(words[1] == words[2]);
  BOOST_TEST(second.words().empty()); // end of file
  BOOST_TEST(second.fds.front().error() == 0);
  const auto late = flexible.words();
  BOOST_REQUIRE_EQUAL(late.size(), 5U);
  BOOST_TEST(late[1] > 0U);
  BOOST_TEST(late[2] == 0U); // one counter is left, and it needs two
}

BOOST_AUTO_TEST_CASE(the_watchdog_holds_a_counter) {
  // It counts cycles in their fixed counter, so that a further cycles event takes a general one.
  Group group({0x003c, plain[0], plain[1], plain[2], plain[3]});
  BOOST_REQUIRE_EQUAL(group.error, 0); // Linux validates a group on an empty PMU
  group.enable();
  execute_slices(2);
  const auto words = group.words();
  BOOST_REQUIRE_EQUAL(words.size(), 8U);
  const bool runs = !has("watchdog 1") || has("general 8");
  BOOST_TEST((words[2] > 0) == runs);
  BOOST_TEST((words[4] > 0) == runs);
}

BOOST_AUTO_TEST_SUITE_END()
