// The simulated events against Linux: what is asked of a software event, which Linux counts, is asked of a
// simulated one, and the answers are compared.
#include "events.hpp"

#include "skip.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <bit>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace recount::test;
namespace data = boost::unit_test::data;

namespace {

/// Boost evaluates this before a case: it runs on a simulated machine only.
struct Simulated {
  Simulated() {
    if (!simulated()) throw std::runtime_error("run this by tests/pmu/run MACHINE");
  }
};

constexpr std::uint64_t all_formats[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 15, 16, 20, 23, 28, 31};

/// An open that is tried with both kinds of event; the changes are made to a good one.
struct Attempt {
  const char* name;
  std::function<void(perf_event_attr&)> change;
  pid_t pid = 0;
  int cpu = -1, group = -1;
  unsigned long flags = 0;
};
const std::vector<Attempt>& attempts() {
  static const std::vector<Attempt> all = {
      {"a good one", [](auto&) {}},
      {"a small structure", [](auto& a) { a.size = PERF_ATTR_SIZE_VER0; }},
      {"no size", [](auto& a) { a.size = 0; }},
      {"too small a structure", [](auto& a) { a.size = 8; }},
      {"too large a structure", [](auto& a) { a.size = 8192; }},
      {"an unknown read format", [](auto& a) { a.read_format = 1 << 7; }},
      {"an unknown sample type", [](auto& a) { a.sample_type = std::uint64_t{1} << 40; }},
      {"a reserved field", [](auto& a) { a.__reserved_2 = 1; }},
      {"no such process", [](auto&) {}, 0x3fffffff},
      {"no such CPU", [](auto&) {}, 0, 100000},
      {"neither process nor CPU", [](auto&) {}, -1, -1},
      {"a group that is none", [](auto&) {}, 0, -1, 1000},
      {"a group that is a file", [](auto&) {}, 0, -1, 0},
      {"an unknown flag", [](auto&) {}, 0, -1, -1, 1 << 20},
      {"a cgroup that is none", [](auto&) {}, 0, 0, -1, PERF_FLAG_PID_CGROUP},
      {"inherited group reads",
       [](auto& a) {
         a.inherit = 1;
         a.read_format = PERF_FORMAT_GROUP;
       }},
      {"inherited reads with identifiers",
       [](auto& a) {
         a.inherit = 1;
         a.read_format = PERF_FORMAT_ID;
       }},
      {"pinned", [](auto& a) { a.pinned = 1; }},
      {"inherit_thread without inherit", [](auto& a) { a.inherit_thread = 1; }},
      {"remove_on_exec with enable_on_exec",
       [](auto& a) {
         a.remove_on_exec = 1;
         a.enable_on_exec = 1;
       }},
      {"sigtrap without remove_on_exec", [](auto& a) { a.sigtrap = 1; }},
      {"all CPUs' rights: a CPU", [](auto&) {}, -1, 0},
  };
  return all;
}
std::ostream& operator<<(std::ostream& out, const Attempt& one) {
  return out << one.name;
}

int errno_of(perf_event_attr attr, const Attempt& how) {
  how.change(attr);
  return EventFd(attr, how.pid, how.cpu, how.group, how.flags).error();
}

std::vector<std::uint64_t> group_words(const perf_event_attr& kind, std::uint64_t format,
                                       std::vector<EventFd>& group) {
  perf_event_attr attr = kind;
  attr.read_format = format;
  group.emplace_back(attr);
  attr.disabled = 0;
  for (int i = 0; i < 2; ++i)
    group.emplace_back(attr, 0, -1, group[0].fd());
  group[0].control(PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
  add_turns(1000);
  group[0].control(PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
  return group[0].words();
}

int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(calls, Simulated)

BOOST_DATA_TEST_CASE(opens_fail_as_those_of_linux, data::make(attempts()), how) {
  BOOST_TEST(errno_of(hardware(), how) == errno_of(software(), how));
}

BOOST_DATA_TEST_CASE(a_group_read_has_the_words_of_linux, data::make(all_formats), format) {
  std::vector<EventFd> software_group, hardware_group;
  const auto real = group_words(software(), format, software_group);
  const auto simulated = group_words(hardware(), format, hardware_group);
  BOOST_REQUIRE_EQUAL(simulated.size(), real.size());
  BOOST_REQUIRE(!real.empty());
  const bool group = (format & PERF_FORMAT_GROUP) != 0;
  if (group) BOOST_TEST(simulated[0] == 3U);
  const bool both_times = (format & 3) == 3;
  if (both_times) BOOST_TEST(simulated[1] == simulated[2]); // enabled == running
  if ((format & PERF_FORMAT_ID) == 0) return;
  const auto head = 1 + static_cast<std::size_t>(std::popcount(format & 3));
  if (!group) {
    BOOST_TEST(simulated[head] == hardware_group[0].id());
    return;
  }
  const std::size_t each = (format & PERF_FORMAT_LOST) != 0 ? 3 : 2;
  for (std::size_t i = 0; i < 3; ++i)
    BOOST_TEST(simulated[head + i * each + 1] == hardware_group[i].id());
}

BOOST_AUTO_TEST_CASE(every_member_of_a_group_counts_the_same_work) {
  std::vector<EventFd> group;
  const auto words = group_words(hardware(), PERF_FORMAT_GROUP, group);
  BOOST_REQUIRE_EQUAL(words.size(), 4U);
  for (std::size_t i = 1; i < 4; ++i) {
    BOOST_TEST(words[i] >= 18003U);
    BOOST_TEST(words[i] < 18003U + 200); // the calls themselves
    BOOST_TEST(words[i] == words[1]);
  }
}

BOOST_AUTO_TEST_CASE(a_short_buffer_is_refused_as_by_linux) {
  for (const auto& kind : {software(), hardware()}) {
    EventFd event(kind);
    BOOST_TEST(event.words(0).empty());
    BOOST_TEST(event.error() == ENOSPC);
  }
}

BOOST_AUTO_TEST_CASE(a_reset_leaves_the_times) {
  for (auto kind : {software(), hardware()}) {
    kind.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    EventFd event(kind);
    event.control(PERF_EVENT_IOC_ENABLE);
    add_turns(1000);
    event.control(PERF_EVENT_IOC_DISABLE);
    const auto before = event.words();
    event.control(PERF_EVENT_IOC_RESET);
    const auto after = event.words();
    BOOST_REQUIRE_EQUAL(after.size(), 3U);
    BOOST_TEST(before[0] > 0U);
    BOOST_TEST(after[0] == 0U);
    BOOST_TEST(after[1] == before[1]);
    BOOST_TEST(after[2] == before[2]);
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_counted_while_disabled) {
  for (const auto& kind : {software(), hardware()}) {
    EventFd event(kind);
    add_turns(1000);
    BOOST_TEST(event.value() == 0U);
    event.control(PERF_EVENT_IOC_ENABLE);
    event.control(PERF_EVENT_IOC_DISABLE);
    const auto stopped = event.value();
    add_turns(1000);
    BOOST_TEST(event.value() == stopped);
  }
}

BOOST_AUTO_TEST_CASE(a_sibling_counts_only_with_its_leader) {
  for (const auto& kind : {software(), hardware()}) {
    EventFd leader(kind), sibling(kind, 0, -1, leader.fd());
    sibling.control(PERF_EVENT_IOC_ENABLE);
    add_turns(1000);
    BOOST_TEST(sibling.value() == 0U);
    leader.control(PERF_EVENT_IOC_ENABLE);
    add_turns(1000);
    BOOST_TEST(sibling.value() > 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_sibling_whose_leader_is_closed_is_read_alone) {
  for (auto kind : {software(), hardware()}) {
    kind.read_format = PERF_FORMAT_GROUP;
    kind.disabled = 0;
    EventFd leader(kind), sibling(kind, 0, -1, leader.fd());
    add_turns(1000);
    leader.close();
    const auto words = sibling.words();
    BOOST_REQUIRE_EQUAL(words.size(), 2U);
    BOOST_TEST(words[0] == 1U);
    BOOST_TEST(words[1] > 0U);
  }
}

/// `nanoseconds` at 36 instructions per nanosecond; a fork takes less than half of that.
void is_counted_where_inherited(const std::function<void()>& work, double nanoseconds) {
  for (const bool inherit : {false, true})
    for (auto kind : {software(), hardware()}) {
      kind.inherit = inherit;
      EventFd event(kind);
      event.control(PERF_EVENT_IOC_ENABLE);
      const auto before = event.value();
      work();
      const auto more = event.value() - before;
      const double expected = (kind.type == PERF_TYPE_HARDWARE ? 36 : 1) * nanoseconds;
      BOOST_TEST((static_cast<double>(more) > expected / 2) == inherit);
    }
}

BOOST_AUTO_TEST_CASE(a_child_is_counted_where_that_is_inherited) {
  is_counted_where_inherited([] { in_child([] { return add_turns(20'000'000), 0; }); }, 10e6);
}

BOOST_AUTO_TEST_CASE(another_thread_is_counted_only_where_that_is_inherited) {
  is_counted_where_inherited([] { std::thread([] { add_turns(20'000'000); }).join(); }, 10e6);
}

BOOST_AUTO_TEST_CASE(a_descriptor_is_readable_in_a_child) {
  for (const auto& kind : {software(), hardware()}) {
    EventFd event(kind);
    event.control(PERF_EVENT_IOC_ENABLE);
    add_turns(1000);
    event.control(PERF_EVENT_IOC_DISABLE);
    const auto here = event.value();
    const auto same = [&] { return event.value() == here ? 0 : 1; };
    BOOST_TEST(in_child(same) == 0);
    BOOST_TEST(event.value() == here); // nor has the child's end closed it
  }
}

BOOST_AUTO_TEST_CASE(a_program_is_counted_from_its_exec_on) {
  for (auto kind : {software(), hardware()}) {
    int go[2];
    BOOST_REQUIRE(pipe(go) == 0);
    const pid_t child = fork();
    if (child == 0) {
      char c = 0;
      if (read(go[0], &c, 1) != 1) _exit(1);
      execlp("sh", "sh", "-c", "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done", nullptr);
      _exit(127);
    }
    kind.enable_on_exec = 1;
    EventFd event(kind, child);
    BOOST_TEST(event.value() == 0U);
    BOOST_TEST(write(go[1], "x", 1) == 1);
    int status = 0;
    waitpid(child, &status, 0);
    BOOST_TEST(event.value() > 0U);
    close(go[0]);
    close(go[1]);
  }
}

BOOST_AUTO_TEST_CASE(a_mixed_group_counts_both_kinds) {
  auto leader_attr = software(PERF_COUNT_SW_PAGE_FAULTS);
  leader_attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
  EventFd leader(leader_attr);
  auto sibling_attr = hardware();
  sibling_attr.disabled = 0;
  EventFd sibling(sibling_attr, 0, -1, leader.fd());
  leader.control(PERF_EVENT_IOC_ENABLE);
  add_turns(1000);
  leader.control(PERF_EVENT_IOC_DISABLE);
  const auto words = leader.words();
  BOOST_REQUIRE_EQUAL(words.size(), 5U);
  BOOST_TEST(words[2] == leader.id());
  BOOST_TEST(words[3] >= 18003U);
  BOOST_TEST(words[4] == sibling.id());
}

BOOST_AUTO_TEST_SUITE_END()
