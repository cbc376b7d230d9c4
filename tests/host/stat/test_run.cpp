// Commands and processes counted on this Linux.
#include "../perf/helpers.hpp"
#include "../perf/target.hpp"

#include "base/process/child.hpp"
#include "base/process/waiter.hpp"
#include "base/text.hpp"
#include "commands/stat/stat_table.hpp"
#include "needs.hpp"
#include "run/stat_run.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

namespace recount::stat {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(stat_run, *test::needs(test::no_software_events))

namespace {

Plan plan(const std::string& list) {
  return make_plan(parse_items({list}), metric::built_in(), Domain::all);
}

const result::Observation& row(const Slice& slice, const std::string& name) {
  const auto at = std::ranges::find(slice.rows, name, &result::Observation::metric);
  BOOST_TEST_REQUIRE((at != slice.rows.end()));
  return *at;
}

double value(const Slice& slice, const std::string& name) {
  const auto number = result::as_double(row(slice, name).value);
  BOOST_TEST_REQUIRE(number.has_value(), row(slice, name).reason.get().text());
  return *number;
}

RunResult run_command(const Plan& p, const std::vector<std::string>& command, const Listener& listener = {},
                      int repeat = 1, std::chrono::milliseconds interval = 0ms) {
  return run(p, {command, {}, repeat, interval}, listener);
}

/// A child that has stopped itself; on SIGCONT it touches pages in itself, in two threads and in a child.
pid_t stopped() {
  const pid_t child = fork();
  if (child != 0) {
    waitpid(child, nullptr, WUNTRACED);
    return child;
  }
  raise(SIGSTOP);
  FreshPages(300).touch(0, 300);
  const auto touch = [] { FreshPages(200).touch(0, 200); };
  std::thread a(touch), b(touch);
  a.join();
  b.join();
  const pid_t grandchild = fork();
  if (grandchild == 0) {
    touch();
    _exit(0);
  }
  waitpid(grandchild, nullptr, 0);
  _exit(0);
}

/// How many of its descriptors are perf events.
int perf_events_of(pid_t pid) {
  int found = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/" + std::to_string(pid) + "/fd", error), end;
       !error && at != end; at.increment(error)) {
    std::error_code ignored;
    found += std::filesystem::read_symlink(at->path(), ignored) == "anon_inode:[perf_event]" ? 1 : 0;
  }
  return found;
}

/// Waits until perf has opened its events and sleeps, so that they are on.
bool attached(pid_t perf, int events) {
  int calm = 0;
  for (int i = 0; i < 500 && calm < 10; ++i) {
    std::this_thread::sleep_for(10ms);
    std::ifstream file("/proc/" + std::to_string(perf) + "/stat");
    std::string id, name, state;
    file >> id >> name >> state;
    calm = state == "S" && perf_events_of(perf) >= events ? calm + 1 : 0;
  }
  return calm >= 10;
}

/// "COUNT,,EVENT,..." a line (perf-stat(1), -x).
std::map<std::string, std::uint64_t> parse_perf(const std::string& text) {
  std::map<std::string, std::uint64_t> counts;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(','), second = line.find(',', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string event = line.substr(second + 1, line.find(',', second + 1) - second - 1);
    counts[event] = std::strtoull(line.c_str(), nullptr, 10);
  }
  return counts;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_same_counts_as_perf_stat_on_one_stopped_process) {
  if (!process::find_program("perf")) return skip("perf is not installed");
  const std::map<std::string, std::string> events{{"page-faults", "perf::PAGE-FAULTS"},
                                                  {"minor-faults", "perf::MINOR-FAULTS"},
                                                  {"major-faults", "perf::MAJOR-FAULTS"},
                                                  {"context-switches", "perf::CONTEXT-SWITCHES"},
                                                  {"cpu-migrations", "perf::CPU-MIGRATIONS"}};
  std::string theirs, ours;
  for (const auto& [perf, recount] : events) {
    theirs += (theirs.empty() ? "" : ",") + perf;
    ours += (ours.empty() ? "" : ",") + recount;
  }
  const pid_t target = stopped();
  std::string out = (std::filesystem::temp_directory_path() / "recount-perf-XXXXXX").string();
  const int file = mkstemp(out.data());
  process::Spawn spawn{{"perf", "stat", "-x,", "-e", theirs, "-p", std::to_string(target), "-o", out}};
  spawn.err = file;
  process::Child perf(spawn);
  const bool ready = attached(perf.pid(), static_cast<int>(events.size()));
  const Plan p = plan(ours);
  Attached mine(p, {target}, Attached::When::at_once);
  kill(target, SIGCONT);
  waitpid(target, nullptr, 0);
  mine.stop();
  const auto exit = perf.wait(10s);
  const auto counts = parse_perf(base::read_file(out).value_or(""));
  close(file);
  std::filesystem::remove(out);
  if (!ready || !exit.ok() || counts.empty())
    return skip("perf stat cannot attach here: " + process::describe(exit));
  const auto read = mine.read();
  for (std::size_t r = 0; r < p.rows.size(); ++r)
    for (const auto& [perf_name, name] : events)
      if (p.rows[r].name == name) {
        BOOST_TEST_REQUIRE(counts.contains(perf_name));
        BOOST_TEST(read[p.rows[r].operands[0].events[0]].value.value() == counts.at(perf_name), name);
      }
  BOOST_TEST(counts.at("page-faults") >= 900U);
}

/// The fields of each event's line.
std::map<std::string, std::vector<std::string>> fields(const std::string& text) {
  std::map<std::string, std::vector<std::string>> all;
  for (const auto line : base::split(std::string_view(text), '\n')) {
    const auto parts = base::split(line, ';');
    if (parts.size() > 5) all[std::string(parts[2])] = {parts.begin(), parts.end()};
  }
  return all;
}

BOOST_AUTO_TEST_CASE(fields_are_those_of_perf_stat) {
  if (!process::find_program("perf")) return skip("perf is not installed");
  std::string out = (std::filesystem::temp_directory_path() / "recount-perf-XXXXXX").string();
  close(mkstemp(out.data()));
  process::Child perf(
      {{"perf", "stat", "-x;", "-r", "2", "-e", "page-faults,task-clock", "-o", out, "true"}});
  const auto exit = perf.wait(10s);
  auto theirs = fields(base::read_file(out).value_or(""));
  std::filesystem::remove(out);
  if (!exit.ok() || theirs.size() != 2)
    return skip("perf stat does not count here: " + process::describe(exit));
  const Plan p = plan("perf::PAGE-FAULTS,perf::TASK-CLOCK");
  auto ours = fields(stat_csv(p, run_command(p, {"true"}, {}, 2), ";"));
  for (const auto& [perf_name, name] :
       {std::pair("page-faults", "perf::PAGE-FAULTS"), std::pair("task-clock", "perf::TASK-CLOCK")}) {
    BOOST_TEST_REQUIRE(ours.contains(name));
    const auto &a = theirs.at(perf_name), &b = ours.at(name);
    BOOST_TEST(a[1] == b[1]); // unit
    BOOST_TEST((a[3].ends_with('%') && b[3].ends_with('%')));
    BOOST_TEST(base::parse<long>(a[4]).has_value() == base::parse<long>(b[4]).has_value()); // running
    BOOST_TEST(a[5] == b[5]);                                                               // 100.00
  }
}

BOOST_AUTO_TEST_CASE(children_and_threads_are_included) {
  const pid_t target = stopped();
  const Plan p = plan("perf::PAGE-FAULTS");
  Attached mine(p, {target}, Attached::When::at_once);
  kill(target, SIGCONT);
  waitpid(target, nullptr, 0);
  const auto count = mine.read()[0];
  BOOST_TEST(count.value.value() >= 300U + 3 * 200U);
  BOOST_TEST(count.value.value() < 2000U);
  BOOST_TEST(count.running_ns == count.enabled_ns);
}

BOOST_AUTO_TEST_CASE(a_command_from_exec_to_end) {
  const Plan p =
      plan("perf::PAGE-FAULTS,{perf::TASK-CLOCK,perf::CONTEXT-SWITCHES},processors-used,page-fault-rate");
  BOOST_TEST(p.groups.size() == 2U);
  const RunResult ended = run_command(p, {"true"}, {}, 3);
  BOOST_TEST_REQUIRE(ended.repetitions.size() == 3U);
  BOOST_TEST(ended.exit->ok());
  for (const Slice& slice : ended.repetitions) {
    BOOST_TEST(value(slice, "perf::PAGE-FAULTS") > 10);
    BOOST_TEST(value(slice, "perf::PAGE-FAULTS") < 5000); // this very program has far more
    BOOST_TEST(value(slice, "perf::TASK-CLOCK") > 0);
    BOOST_TEST(value(slice, "page-fault-rate") ==
                   value(slice, "perf::PAGE-FAULTS") / (slice.end - slice.begin),
               boost::test_tools::tolerance(1e-9));
    BOOST_TEST(value(slice, "processors-used") ==
                   value(slice, "perf::TASK-CLOCK") / 1e9 / (slice.end - slice.begin),
               boost::test_tools::tolerance(1e-9));
  }
}

BOOST_AUTO_TEST_CASE(intervals_add_up_to_the_whole) {
  const Plan p = plan("perf::PAGE-FAULTS,perf::TASK-CLOCK");
  std::vector<Slice> intervals;
  const RunResult ended = run_command(
      p, {"sh", "-c", "sleep 0.12; ls / > /dev/null; sleep 0.12; true"},
      [&](const Slice& slice) {
        if (slice.interval) intervals.push_back(slice);
      },
      1, 50ms);
  BOOST_TEST_REQUIRE(intervals.size() >= 2U);
  double end = 0;
  std::map<std::string, double> sums;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    BOOST_TEST(*intervals[i].interval == static_cast<int>(i));
    BOOST_TEST(intervals[i].begin == end);
    BOOST_TEST(intervals[i].end > end);
    end = intervals[i].end;
    for (const char* name : {"perf::PAGE-FAULTS", "perf::TASK-CLOCK"})
      sums[name] += value(intervals[i], name);
  }
  const Slice& whole = ended.repetitions.at(0);
  BOOST_TEST(whole.end == end);
  for (const auto& [name, sum] : sums)
    BOOST_TEST(sum == value(whole, name), name);
}

BOOST_AUTO_TEST_CASE(how_it_ended) {
  const Plan p = plan("perf::PAGE-FAULTS");
  BOOST_TEST(shell_status(*run_command(p, {"sh", "-c", "exit 3"}).exit) == 3);
  BOOST_TEST(shell_status(*run_command(p, {"sh", "-c", "kill -TERM $$"}).exit) == 128 + SIGTERM);
  BOOST_CHECK_THROW((void)run_command(p, {"/nowhere/at/all"}), process::CannotRun);
}

BOOST_AUTO_TEST_CASE(signals_of_other_processes_are_forwarded) {
  const auto reported = process::in_fork(
      [](int fd) {
        const pid_t self = getpid();
        if (fork() == 0) {
          usleep(300'000);
          kill(self, SIGTERM);
          _exit(0);
        }
        const RunResult ended = run_command(plan("perf::PAGE-FAULTS"), {"sleep", "20"}, {}, 5);
        const std::string text = std::to_string(shell_status(*ended.exit)) + " " +
                                 std::to_string(ended.signal) + " " +
                                 std::to_string(ended.repetitions.size());
        return write(fd, text.data(), text.size()) > 0 ? 0 : 1;
      },
      15s);
  BOOST_TEST(reported.out == "143 15 0"); // the run that was interrupted is no repetition
}

BOOST_AUTO_TEST_CASE(listener_exception_does_not_stop_the_command) {
  const auto begin = std::chrono::steady_clock::now();
  const Plan p = plan("perf::PAGE-FAULTS");
  const auto full = [](const Slice&) { throw unavailable("r.jsonl", "the disk is full"); };
  const RunResult ended = run_command(p, {"sleep", "0.3"}, full, 3, 20ms);
  BOOST_CHECK_THROW(std::rethrow_exception(ended.error), Error);
  BOOST_TEST(ended.repetitions.size() == 1U); // and no other run is started
  BOOST_TEST(value(ended.repetitions[0], "perf::PAGE-FAULTS") > 0);
  BOOST_TEST((std::chrono::steady_clock::now() - begin >= 300ms));
}

BOOST_AUTO_TEST_CASE(failed_run_is_no_repetition) {
  const Plan p = plan("perf::PAGE-FAULTS");
  const std::string file =
      (std::filesystem::temp_directory_path() / ("recount-runs-" + std::to_string(getpid()))).string();
  const std::vector<std::string> third_fails{"sh", "-c",
                                             "echo >> " + file + "; test $(wc -l < " + file + ") != 3"};
  Request request{third_fails, {}, 5, 0ms};
  int heard = 0;
  const Listener listener = [&](const Slice&) { ++heard; };
  const RunResult stopped = run(p, request, listener);
  BOOST_TEST(stopped.repetitions.size() == 2U);
  BOOST_TEST(stopped.completed() == 2U);
  BOOST_TEST(heard == 2); // the results file has what the table has
  BOOST_TEST(stopped.cut_short);
  BOOST_TEST(exit_status(stopped) == 1);
  std::filesystem::remove(file);
  request.ignore_failure = true;
  const RunResult went_on = run(p, request, listener);
  BOOST_TEST(went_on.repetitions.size() == 5U);
  BOOST_TEST(went_on.failed == 1U);
  BOOST_TEST(!went_on.cut_short);
  std::filesystem::remove(file);
}

BOOST_AUTO_TEST_CASE(killed_single_run_is_flagged) {
  const Plan p = plan("perf::PAGE-FAULTS");
  const RunResult ended = run_command(p, {"sh", "-c", "kill -SEGV $$"});
  BOOST_TEST(ended.completed() == 0U);
  BOOST_TEST_REQUIRE(ended.repetitions.size() == 1U);
  const auto& flags = row(ended.repetitions[0], "perf::PAGE-FAULTS").flags;
  BOOST_TEST(std::ranges::count(flags, "incomplete: killed by signal 11 (SIGSEGV)", &Flag::text) == 1);
}

BOOST_AUTO_TEST_CASE(a_process_until_it_ends_and_while_a_command_runs) {
  const Plan p = plan("perf::PAGE-FAULTS");
  {
    ::Target target([] {
      FreshPages(400).touch(0, 400);
      usleep(150'000);
      FreshPages(300).touch(0, 300);
    });
    std::thread later([&] {
      usleep(100'000);
      target.go();
    });
    std::vector<Slice> intervals;
    const RunResult ended = run(p, {{}, {target.pid()}, 1, 50ms}, [&](const Slice& s) {
      if (s.interval) intervals.push_back(s);
    });
    later.join();
    BOOST_TEST(value(ended.repetitions.at(0), "perf::PAGE-FAULTS") >= 700);
    BOOST_TEST(!ended.exit.has_value());
    BOOST_TEST(intervals.size() >= 2U);
  }
  ::Target idle([] {});
  usleep(100'000); // until it waits, and faults no more
  const RunResult ended = run(p, {{"true"}, {idle.pid()}, 1, 0ms}, {});
  BOOST_TEST(ended.exit->ok());
  BOOST_TEST(value(ended.repetitions.at(0), "perf::PAGE-FAULTS") == 0); // the command itself is not counted
}

BOOST_AUTO_TEST_CASE(uncountable_event_has_reason) {
  const Plan p = plan("perf::PAGE-FAULTS,PAPI_TOT_INS,ipc,loads-per-l1-miss");
  const RunResult ended = run_command(p, {"true"});
  BOOST_TEST(value(ended.repetitions[0], "perf::PAGE-FAULTS") > 0);
  if (!message([] { Group group(std::vector<std::string>{"perf::INSTRUCTIONS"}); }).empty())
    for (const char* name : {"PAPI_TOT_INS", "ipc", "loads-per-l1-miss"}) {
      BOOST_TEST(!result::as_double(row(ended.repetitions[0], name).value).has_value());
      BOOST_TEST(!row(ended.repetitions[0], name).reason.empty());
    }
}

BOOST_AUTO_TEST_CASE(unknown_names_are_rejected) {
  BOOST_TEST(holds(message([] { (void)plan("perf::PAGE-FALTS"); }), "perf::PAGE-FAULTS"));
  BOOST_TEST(holds(message([] { (void)plan("page-fault-rat"); }), "did you mean page-fault-rate"));
  BOOST_TEST(
      holds(message([] { (void)Attached(plan("perf::PAGE-FAULTS"), {0x3ffffff}, Attached::When::at_once); }),
            "no such process"));
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace recount::stat
