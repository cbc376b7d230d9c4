// Programs watched on this Linux: intervals add up to the whole, and any process may end.
#include "watching.hpp"

#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "commands/watch/watcher.hpp"
#include "run/stat_run.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <fstream>
#include <numeric>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace recount;
using namespace recount::test;
using namespace recount::watch;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(watcher)

namespace {
struct Seen final : Observer {
  Seen(const std::string& list, const WatchSettings& settings) {
    status = watch::watch(plan_of(list), settings, *this);
  }
  void message(const Message& m) override { messages.push_back(m); }
  void slice(const stat::Slice& s) override { slices.push_back(s); }
  std::vector<Message> messages;
  std::vector<stat::Slice> slices;
  int status = -1;
};

WatchSettings command(const std::vector<std::string>& words, std::chrono::milliseconds interval = 20ms) {
  WatchSettings settings;
  settings.command = words;
  settings.subject = words[0];
  settings.interval = interval;
  settings.in = -1;
  return settings;
}

const std::string sectioned = std::string(FIXTURES) + "/sectioned";

/// Whether it has made no step for half a second, by proc(5): asleep longer than between two bursts, or a
/// zombie.
bool waits_or_ended(pid_t pid) {
  const auto state = [pid] {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string word;
    std::vector<std::string> words;
    while (file >> word)
      words.push_back(word);
    return words.size() > 14 ? words[2] + " " + words[13] + " " + words[14] : std::string();
  };
  const std::string before = state();
  for (int i = 0; i < 50; ++i) {
    if (before.starts_with("Z")) return true;
    if (state() != before || !before.starts_with("S")) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

double value(const stat::Slice& slice, std::size_t row = 0) {
  return result::as_double(slice.rows.at(row).value).value();
}
} // namespace

BOOST_AUTO_TEST_CASE(intervals_add_up_to_the_whole) {
  const Seen seen("perf::PAGE-FAULTS,perf::TASK-CLOCK", command({sectioned, "30", "50"}));
  BOOST_TEST(seen.status == 0);
  BOOST_TEST_REQUIRE(seen.slices.size() > 3U);
  const auto& whole = seen.slices.back();
  BOOST_TEST(!whole.interval.has_value());
  for (const std::size_t row : {0U, 1U}) {
    double sum = 0;
    for (const auto& slice : seen.slices)
      if (slice.interval) sum += value(slice, row);
    BOOST_TEST(sum == value(whole, row));
  }
  BOOST_TEST(value(whole) >= 1500.0);
  const auto intervals = of<Interval>(seen.messages);
  BOOST_TEST(intervals.size() + 1 == seen.slices.size());
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    BOOST_TEST(intervals[i].number == static_cast<std::int64_t>(i));
    if (i > 0) BOOST_TEST(intervals[i].begin == intervals[i - 1].end);
    const double seconds = intervals[i].end - intervals[i].begin;
    BOOST_TEST(std::abs(intervals[i].values[0].value() * seconds - value(seen.slices[i])) < 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(every_mark_arrives_or_is_reported_as_dropped) {
  const Seen seen("perf::PAGE-FAULTS", command({sectioned, "40"}));
  const auto sections = of<Section>(seen.messages);
  BOOST_TEST(sections.size() + dropped(seen.messages, true) == 4000U);
  BOOST_TEST(sections.size() >= 400U);
  double before = 0;
  for (const auto& section : sections) {
    BOOST_TEST(section.time >= before);
    before = section.time;
  }
  BOOST_TEST(std::holds_alternative<Hello>(seen.messages.front()));
  BOOST_TEST(std::holds_alternative<End>(seen.messages.back()));
}

BOOST_AUTO_TEST_CASE(marks_dropped_last_are_reported) {
  stat::SectionSocket socket;
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(socket.program_end(), process::free_descriptor());
    ::setenv(recount::base::sections_variable, std::to_string(process::free_descriptor()).c_str(), 1);
    ::execl(sectioned.c_str(), "sectioned", "10", nullptr);
    ::_exit(127);
  }
  socket.started();
  // The program makes its thousand marks, and nobody listens, until it has ended or waits for a listener.
  while (!waits_or_ended(child))
    std::this_thread::sleep_for(10ms);
  std::vector<Message> heard;
  while (socket.fd() >= 0) {
    pollfd wait{socket.fd(), POLLIN, 0};
    ::poll(&wait, 1, -1);
    socket.read([&](std::string_view text) {
      parse_sections(text, 0, 0, [&](const Message& m) { heard.push_back(m); });
    });
  }
  int status = -1;
  BOOST_TEST(::waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
  BOOST_TEST(of<Section>(heard).size() < 1000U);
  BOOST_TEST(of<Section>(heard).size() + dropped(heard, true) == 1000U);
}

BOOST_AUTO_TEST_CASE(shell_writes_to_the_descriptor) {
  const Seen seen("perf::PAGE-FAULTS",
                  command({"sh", "-c", "echo begin one >&$RECOUNT_SECTIONS_FD; echo end one >&3"}));
  const auto sections = of<Section>(seen.messages);
  BOOST_TEST_REQUIRE(sections.size() == 2U);
  BOOST_TEST(sections[0].name == "one");
  BOOST_TEST((sections[1].edge == Section::Edge::end));
}

BOOST_AUTO_TEST_CASE(status_is_that_of_the_command) {
  BOOST_TEST(Seen("perf::PAGE-FAULTS", command({"sh", "-c", "exit 7"})).status == 7);
  const Seen killed("perf::PAGE-FAULTS", command({"sh", "-c", "kill -KILL $$"}));
  BOOST_TEST(killed.status == 137);
  BOOST_TEST(of<End>(killed.messages).at(0).status.value() == 137);
  BOOST_CHECK_THROW(Seen("perf::PAGE-FAULTS", command({"no-such-program-anywhere"})), process::CannotRun);
}

BOOST_AUTO_TEST_CASE(end_of_unreaped_process_is_noticed) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::this_thread::sleep_for(200ms);
    ::_exit(0);
  }
  WatchSettings settings;
  settings.pids = {child};
  settings.interval = 50ms;
  const Seen seen("perf::PAGE-FAULTS", settings);
  BOOST_TEST(seen.status == 0);
  BOOST_TEST(of<Interval>(seen.messages).size() <= 8U); // and no busy loop
  BOOST_TEST(of<End>(seen.messages).at(0).reason == "the process ended");
  ::waitpid(child, nullptr, 0);
}

BOOST_AUTO_TEST_CASE(process_is_watched_while_a_command_runs) {
  WatchSettings settings = command({"sleep", "0.2"}, 50ms);
  settings.pids = {::getpid()};
  const Seen seen("perf::PAGE-FAULTS", settings);
  BOOST_TEST(seen.status == 0);
  BOOST_TEST(of<Interval>(seen.messages).size() >= 2U);
}

BOOST_AUTO_TEST_CASE(signals_are_forwarded_to_the_command) {
  sigset_t term, before; // in the other thread as well
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &term, &before);
  std::thread sender([self = ::getpid()] {
    std::this_thread::sleep_for(300ms);
    ::kill(self, SIGTERM);
  });
  const Seen seen("perf::PAGE-FAULTS", command({"sleep", "30"}));
  sender.join();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  BOOST_TEST(seen.status == 143);
}

BOOST_AUTO_TEST_SUITE_END()
