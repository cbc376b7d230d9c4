// Too many events for the counters: turns, refusals, and groups that never run. The PMU has six counters that
// count anything and one for cycles.
#include "host/perf/helpers.hpp"
#include "loop.hpp"

#include "base/process/fd.hpp"

#include <recount/group.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

using namespace recount;
using namespace recount::test;

namespace {

constexpr std::size_t counters = 6;

std::vector<std::string> instructions(std::size_t events) {
  return std::vector<std::string>(events, "perf::INSTRUCTIONS");
}

/// The system call itself, to see what the kernel does when nobody is careful.
process::Fd open_raw(int group, bool disabled, bool pinned = false) {
  perf_event_attr attr = encode("perf::INSTRUCTIONS", Domain::user).attr;
  attr.disabled = disabled;
  attr.pinned = pinned;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return process::Fd(
      static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC)));
}

struct Words {
  std::uint64_t value = 0, enabled = 0, running = 0;
};

/// Bytes read; the words where there are some.
ssize_t read_raw(const process::Fd& fd, Words& words) {
  return ::read(fd.get(), &words, sizeof words);
}

} // namespace

BOOST_AUTO_TEST_SUITE(scheduling)

BOOST_AUTO_TEST_CASE(more_events_than_counters_take_turns_and_scale) {
  for (const std::size_t events : {counters + 1, 2 * counters, 3 * counters}) {
    Counters all(instructions(events), Domain::user);
    BOOST_TEST(all.groups().size() == (events + counters - 1) / counters);
    const std::uint64_t rounds = 100'000; // 0.1 s of the machine's time: dozens of turns
    all.start();
    idle(rounds);
    all.stop();
    double turns = 0;
    for (const auto& group : all.groups())
      turns += share(all.read()[group.front()]);
    BOOST_TEST(turns > 0.98); // of the groups one was on all the time, but for the moment between two
    BOOST_TEST(turns < 1.001);
    for (const Count& count : all.read()) {
      BOOST_TEST(multiplexed(count));
      BOOST_TEST(count.running_ns > 0U);
      BOOST_TEST(count.value.value() < idle_round * rounds);
      const double error = scale(count).value() / static_cast<double>(idle_round * rounds) - 1;
      BOOST_TEST_MESSAGE(events << " events: counted " << 100 * share(count) << " %, scaled error "
                                << 100 * error << " %");
      BOOST_TEST(std::abs(error) < 0.01);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_oversize_group_opens_beside_a_disabled_leader_and_never_runs) {
  const process::Fd leader = open_raw(-1, true);
  std::vector<process::Fd> siblings;
  while (siblings.size() < counters) {
    siblings.push_back(open_raw(leader.get(), false));
    BOOST_TEST_REQUIRE(siblings.back().get() >= 0);
  }
  ioctl(leader.get(), PERF_EVENT_IOC_ENABLE, 0);
  spin(1'000'000);
  Words words;
  BOOST_TEST(read_raw(leader, words) == static_cast<ssize_t>(sizeof words));
  BOOST_TEST(words.enabled > 0U);
  BOOST_TEST(words.running == 0U); // the trap: a reader who ignores the times takes this for a count of 0
  BOOST_TEST(words.value == 0U);
}

BOOST_AUTO_TEST_CASE(an_oversize_group_is_refused_beside_an_enabled_leader) {
  const process::Fd leader = open_raw(-1, false);
  std::vector<process::Fd> siblings;
  while (siblings.size() < counters - 1) {
    siblings.push_back(open_raw(leader.get(), false));
    BOOST_TEST_REQUIRE(siblings.back().get() >= 0);
  }
  const process::Fd seventh = open_raw(leader.get(), false);
  const int error = errno;
  BOOST_TEST(seventh.get() < 0);
  BOOST_TEST(error == EINVAL);
}

BOOST_AUTO_TEST_CASE(a_group_that_cannot_run_is_an_error_with_a_fix) {
  const std::string reported = message([] { Group group(instructions(counters + 1), Domain::user); });
  BOOST_TEST_MESSAGE(reported);
  BOOST_TEST(holds(reported, "perf::INSTRUCTIONS"));
  BOOST_TEST(holds(reported, "EINVAL"));
  BOOST_TEST(holds(reported, "in another event group"));
}

BOOST_AUTO_TEST_CASE(counters_say_what_does_not_fit) {
  Counters all(instructions(counters + 1), Domain::user);
  BOOST_TEST_REQUIRE(all.notes().size() == 1U);
  BOOST_TEST(holds(all.notes()[0], "does not fit into one event group"));
}

BOOST_AUTO_TEST_CASE(an_over_committed_pinned_event_reads_end_of_file) {
  std::vector<process::Fd> pinned;
  while (pinned.size() < counters + 1)
    pinned.push_back(open_raw(-1, false, true));
  spin(1000);
  Words words;
  std::size_t counting = 0, ended = 0;
  for (const process::Fd& fd : pinned)
    ++(read_raw(fd, words) == 0 ? ended : counting);
  BOOST_TEST(counting == counters);
  BOOST_TEST(ended == 1U);
}

BOOST_AUTO_TEST_CASE(a_pinned_group_keeps_its_counters_and_others_hear_it) {
  GroupOptions options;
  options.pinned = true;
  Group flexible({"perf::INSTRUCTIONS"}, Domain::user);
  Group pinned(instructions(counters), Domain::user, options);
  flexible.start();
  pinned.start();
  flexible.reset();
  idle(10'000);
  BOOST_TEST(!flexible.read()[0].value); // not 0
  BOOST_TEST(holds(flexible.read()[0].reason->text(), "never scheduled"));
  BOOST_TEST(pinned.read()[0].value.value() >= 10'000 * idle_round);
  BOOST_TEST(!multiplexed(pinned.read()[0]));
  // A second pinned group finds no counter, and says so when it is made.
  const std::string reported = message([&] { Group second({"perf::INSTRUCTIONS"}, Domain::user, options); });
  BOOST_TEST(holds(reported, "never scheduled"));
  pinned.stop();
  flexible.reset();
  idle(10'000);
  BOOST_TEST(flexible.read()[0].value.has_value()); // its turn has come
}

BOOST_AUTO_TEST_CASE(a_pinned_group_that_lost_its_counters_has_no_value) {
  GroupOptions options;
  options.pinned = true;
  Group first({"perf::INSTRUCTIONS"}, Domain::user, options);
  Group second(instructions(counters), Domain::user, options);
  second.start();
  spin(1000);
  BOOST_TEST(second.read()[0].value.has_value());
  first.start(); // the kernel puts pinned groups on in the order of their making
  spin(1000);
  BOOST_TEST(first.read()[0].value.has_value());
  BOOST_TEST(!second.read()[0].value);
  BOOST_TEST(holds(second.read()[0].reason->text(), "pinned"));
}

BOOST_AUTO_TEST_CASE(a_kernel_reset_leaves_the_times) {
  const process::Fd fd = open_raw(-1, false);
  idle(1000);
  ioctl(fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  Words before, after;
  read_raw(fd, before);
  ioctl(fd.get(), PERF_EVENT_IOC_RESET, 0);
  read_raw(fd, after);
  BOOST_TEST(after.value == 0U);
  BOOST_TEST(after.enabled == before.enabled);
  BOOST_TEST(before.enabled > 0U);
}

BOOST_AUTO_TEST_SUITE_END()
