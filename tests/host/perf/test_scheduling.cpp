// Groups that do not fit are told from groups that count, here before a kernel that plays tricks.
#include "count/perf/open_group.hpp"
#include "helpers.hpp"
#include "needs.hpp"

#include <recount/user_read.hpp>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace recount;
using perf::OpenGroup;
using perf::Split;

BOOST_AUTO_TEST_SUITE(scheduling, *test::needs(test::no_software_events))

/// The descriptor of an event of this process answers with the words from now on.
BOOST_AUTO_TEST_CASE(times_that_decrease_are_no_count) {
  OpenGroup group({});
  BOOST_TEST_REQUIRE(group.add(encode("perf::PAGE-FAULTS")).ok());
  group.start();
  BOOST_TEST(group.read().front().value.has_value());
  int event = -1;
  for (int fd = 3; fd < 100; ++fd) {
    char target[64] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (::readlink(link.c_str(), target, sizeof target - 1) > 0 &&
        std::string(target) == "anon_inode:[perf_event]")
      event = fd;
  }
  BOOST_TEST_REQUIRE(event >= 0);
  std::vector<std::uint64_t> words(16);
  const ssize_t bytes = ::read(event, words.data(), words.size() * sizeof words[0]);
  BOOST_TEST_REQUIRE(bytes > 0);
  group.reset();
  words[2] = 0; // the running time, after the number of events and the enabled time
  const int file = ::memfd_create("words", 0);
  BOOST_TEST_REQUIRE(::write(file, words.data(), static_cast<std::size_t>(bytes)) == bytes);
  ::lseek(file, 0, SEEK_SET);
  ::dup2(file, event);
  const Count count = group.read().front();
  BOOST_TEST(!count.value.has_value());
  BOOST_TEST(count.running_ns == 0);
  BOOST_TEST(count.reason->text().find("decreased") != std::string::npos);
  ::close(file);
}

namespace {

constexpr int counters = 2; // of the PMU that the next function plays

/// A group has room for two events; a third gets EINVAL if all before it are enabled, as from a driver that
/// leaves events that are switched off out of its count, and would open next to a disabled leader.
int members = 0;
bool leader_enabled(int leader) {
  std::uint64_t words[16] = {};
  std::uint64_t first = 0;
  if (::read(leader, words, sizeof words) < 0) return false;
  first = words[1];
  for (int i = 0; i < 1000; ++i)
    if (::read(leader, words, sizeof words) > 0 && words[1] > first) return true;
  return false;
}
int narrow(perf_event_attr* attr, pid_t pid, int cpu, int group_fd, unsigned long flags) {
  if (group_fd >= 0) {
    const int present = members + 1 + (leader_enabled(group_fd) ? 0 : -1);
    if (present > counters) {
      errno = EINVAL;
      return -1;
    }
    ++members;
  } else {
    members = 1;
  }
  return perf::open_call(attr, pid, cpu, group_fd, flags);
}

/// Opens everything, but a second event keeps its group off the PMU.
int starved(perf_event_attr* attr, pid_t pid, int cpu, int group_fd, unsigned long flags) {
  if (group_fd >= 0) ioctl(group_fd, PERF_EVENT_IOC_DISABLE, 0);
  return perf::open_call(attr, pid, cpu, group_fd, flags);
}

/// Opens, and never runs anything.
int dead(perf_event_attr* attr, pid_t pid, int cpu, int group_fd, unsigned long flags) {
  attr->disabled = 1;
  return perf::open_call(attr, pid, cpu, group_fd, flags);
}

/// Notes what it is called with: pinned and exclusive of each event, and whether it is a sibling.
std::string opened;
int noting(perf_event_attr* attr, pid_t pid, int cpu, int group_fd, unsigned long flags) {
  opened += group_fd >= 0 ? "s" : "L";
  opened += attr->pinned != 0 ? "D" : "";
  opened += attr->exclusive != 0 ? "e" : "";
  opened += attr->sample_period != 0 ? "p" : "";
  return perf::open_call(attr, pid, cpu, group_fd, flags);
}

std::vector<Event> faults(std::size_t number) {
  return std::vector<Event>(number, encode("perf::PAGE-FAULTS"));
}

} // namespace

BOOST_AUTO_TEST_CASE(an_oversize_group_is_refused_beside_an_enabled_leader) {
  OpenGroup group({}, narrow);
  const auto events = faults(3);
  BOOST_TEST(group.add(events[0]).ok());
  BOOST_TEST(group.add(events[1]).ok());
  const auto third = group.add(events[2]);
  BOOST_TEST((third.how == OpenGroup::Joined::How::refused));
  BOOST_TEST(third.error == EINVAL);
  BOOST_TEST(group.events().size() == 2U);
}

BOOST_AUTO_TEST_CASE(events_are_split_and_that_is_said) {
  Split split({}, narrow);
  for (const Event& event : faults(3))
    split.add(event);
  BOOST_TEST_REQUIRE(split.groups().size() == 2U);
  BOOST_TEST((split.members()[0] == std::vector<std::size_t>{0, 1}));
  BOOST_TEST((split.members()[1] == std::vector<std::size_t>{2}));
  BOOST_TEST_REQUIRE(split.notes().size() == 1U);
  BOOST_TEST(
      holds(split.notes()[0], "does not fit into one event group with perf::PAGE-FAULTS, perf::PAGE-FAULTS"));
}

BOOST_AUTO_TEST_CASE(pinned_and_exclusive_events_lead_groups_of_their_own) {
  auto events = faults(5);
  events[1].attr.pinned = 1;
  events[3].attr.exclusive = 1;
  events[4].attr.sample_period = 1000; // of a name; counting takes no samples
  opened.clear();
  Split split({}, noting);
  for (const Event& event : events)
    split.add(event);
  BOOST_TEST(opened == "LLDsLes");
  BOOST_TEST((split.members() == std::vector<std::vector<std::size_t>>{{0, 2, 4}, {1}, {3}}));
  BOOST_TEST(split.notes().empty());
  OpenGroup group({}, noting);
  opened.clear();
  BOOST_TEST(group.add(events[1]).ok());
  BOOST_TEST(group.add(events[3]).ok());
  BOOST_TEST(opened == "LDs"); // only a leader may be pinned
}

BOOST_AUTO_TEST_CASE(a_group_that_opens_but_never_runs_is_noticed) {
  OpenGroup group({}, starved);
  BOOST_TEST(group.add(faults(1)[0]).ok());
  BOOST_TEST((group.add(faults(1)[0]).how == OpenGroup::Joined::How::never_runs));
  BOOST_TEST(group.events().size() == 1U); // and goes on without it
  FreshPages memory(11);
  group.start();
  memory.touch(0, 1);
  group.reset();
  memory.touch(1, 11);
  group.stop();
  BOOST_TEST(group.read()[0].value.value() == 10U);
}

BOOST_AUTO_TEST_CASE(events_that_keep_a_group_off_are_counted_apart) {
  Split split({}, starved);
  for (const Event& event : faults(2))
    split.add(event);
  BOOST_TEST(split.groups().size() == 2U);
}

BOOST_AUTO_TEST_CASE(an_event_that_never_runs_even_alone_is_an_error) {
  Split split({}, dead);
  const std::string reported = message([&] { split.add(faults(1)[0]); });
  BOOST_TEST(holds(reported, "perf::PAGE-FAULTS"));
  BOOST_TEST(holds(reported, "never scheduled"));
  BOOST_TEST(holds(reported, "kernel.nmi_watchdog"));
}

BOOST_AUTO_TEST_CASE(pinned_and_exclusive_groups_count_all_the_time) {
  FreshPages memory(21);
  GroupOptions options;
  options.pinned = true;
  options.exclusive = true;
  Group group({"perf::PAGE-FAULTS", "perf::MINOR-FAULTS"}, Domain::all, options);
  group.start();
  memory.touch(0, 1);
  group.reset();
  memory.touch(1, 21);
  group.stop();
  BOOST_TEST(group.read()[1].value.value() == 20U);
  BOOST_TEST(!multiplexed(group.read()[1]));
}

BOOST_AUTO_TEST_CASE(the_time_stamp_counter_under_a_software_leader) {
  std::vector<Event> events{encode("perf::PAGE-FAULTS")};
  try {
    events.push_back(encode("msr/tsc/", Domain::user));
    Group trial(events);
  } catch (const Error& error) {
    return skip(error.what());
  }
  Group group(events);
  group.start();
  const volatile int work = 0;
  for (int i = 0; i < 100000; ++i)
    (void)work;
  usleep(50'000); // it stops while the thread sleeps
  group.stop();
  const Count ticks = group.read()[1];
  BOOST_TEST(ticks.value.value() > 10'000U); // an iteration takes more than a tenth of a tick
  BOOST_TEST(ticks.enabled_ns < 40'000'000U);
  // No clock rate between 0.5 and 10 ticks a nanosecond is assumed away.
  BOOST_TEST(static_cast<double>(*ticks.value) < 10.0 * static_cast<double>(ticks.enabled_ns));
}

BOOST_AUTO_TEST_CASE(user_reads_fall_back_where_there_is_no_register) {
  FreshPages memory(31);
  UserRead counter(encode("perf::PAGE-FAULTS"));
  BOOST_TEST((counter.read().reason->code == ReasonCode::not_started));
  counter.start();
  memory.touch(0, 1);
  counter.reset();
  memory.touch(1, 21);
  const Count running = counter.read();
  BOOST_TEST(running.value.value() == 20U);
  BOOST_TEST(counter.value().value() == 20U);
  memory.touch(21, 31);
  counter.stop();
  BOOST_TEST(counter.read().value.value() == 30U);
  BOOST_TEST(counter.direct() == 0U); // a software event is on no register
  BOOST_TEST(counter.system_calls() == 5U);
}

BOOST_AUTO_TEST_CASE(user_reads_of_a_hardware_event_equal_those_of_the_kernel) {
  const std::string reason = message([] { UserRead trial(encode("perf::INSTRUCTIONS:u")); });
  if (!reason.empty()) return skip(reason);
  UserRead fast(encode("perf::INSTRUCTIONS:u"));
  Group slow(std::vector<std::string>{"perf::INSTRUCTIONS:u"});
  slow.start();
  fast.start();
  const Count before = fast.read();
  for (int i = 0; i < 1'000'000; ++i)
    asm volatile("" : : "r"(i));
  const Count after = fast.read();
  fast.stop();
  slow.stop();
  BOOST_TEST(*difference(after, before).value >= 2'000'000U);
  BOOST_TEST(*difference(after, before).value <= *slow.read()[0].value);
}

BOOST_AUTO_TEST_SUITE_END()
