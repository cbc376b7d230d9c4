// Calls of functions, counted in unmodified programs.
#include "base/process/child.hpp"
#include "base/process/temporary_folder.hpp"
#include "commands/profile/function_recording.hpp"
#include "skip.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <future>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace recount;
using namespace recount::profile;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(functions)

namespace {

struct Fifo {
  process::TemporaryFolder folder{"recount-fifo"};
  std::string path = folder.path() + "/fifo";
  Fifo() { BOOST_REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }
};

FunctionSettings settings_for(const std::string& function, const std::vector<std::string>& words) {
  FunctionSettings settings;
  settings.names = {function};
  settings.counters = {"page-faults"};
  settings.who.command = {std::string(FIXTURES) + "/profiled"};
  settings.who.command.insert(settings.who.command.end(), words.begin(), words.end());
  return settings;
}

/// What is wrong with a name.
std::string refusal(const std::string& function) {
  try {
    static_cast<void>(record_functions(settings_for(function, {"inlined", "1"})));
  } catch (const Error& error) {
    return error.problem().cause;
  }
  return "nothing";
}

FunctionRecording counted(const std::string& function, const std::vector<std::string>& words) {
  return record_functions(settings_for(function, words));
}

/// Why probes cannot be placed here; empty: they can.
const std::string& no_probes() {
  static const std::string why = [] {
    try {
      static_cast<void>(counted("work::called", {"call", "1"}));
    } catch (const Error& error) {
      return error.problem().subject + ": " + error.problem().cause;
    }
    return std::string();
  }();
  return why;
}

#define NEEDS_PROBES                                                                                         \
  if (!no_probes().empty()) return test::skip(no_probes())

/// A fixture that waits for a line on its standard input before each part of its work.
class Waiting {
public:
  explicit Waiting(long number)
      : child_(process::Spawn{
            .argv = {std::string(FIXTURES) + "/profiled", "attach-call", std::to_string(number)},
            .in = in_.read.get(),
            .out = out_.write.get()}) {
    char ready[6];
    BOOST_REQUIRE(::read(out_.read.get(), ready, sizeof ready) == 6);
  }
  void go_on() { BOOST_REQUIRE(::write(in_.write.get(), "\n", 1) == 1); }
  [[nodiscard]] process::Child& child() { return child_; }
  [[nodiscard]] int said() const { return out_.read.get(); }

private:
  process::Pipe in_, out_;
  process::Child child_;
};

} // namespace

BOOST_AUTO_TEST_CASE(number_of_calls_is_exact) {
  NEEDS_PROBES;
  for (const long calls : {1L, 7L, 5000L}) {
    const auto got = counted("work::called", {"call", std::to_string(calls)});
    BOOST_REQUIRE(got.functions.size() == 1U);
    const auto& f = got.functions[0];
    BOOST_TEST(f.name == "work::called(long)");
    BOOST_TEST(f.calls == static_cast<std::uint64_t>(calls));
    BOOST_TEST(f.seen.entries == f.calls);
    BOOST_TEST(f.seen.completed == f.calls);
    BOOST_TEST(f.seen.unreturned + f.seen.stray + f.seen.recursive == 0U);
    BOOST_TEST(got.complete);
  }
}

BOOST_AUTO_TEST_CASE(counts_belong_to_their_call) {
  NEEDS_PROBES;
  auto settings = settings_for("work::fault_once", {"fault", "200"});
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  int cpu = 0;
  while (!CPU_ISSET(static_cast<std::size_t>(cpu), &set))
    ++cpu;
  settings.who.cpu = cpu;
  const auto got = record_functions(settings);
  const auto& seen = got.functions.at(0).seen;
  BOOST_TEST(seen.completed == 200U);
  BOOST_TEST(seen.migrated == 0U);
  BOOST_TEST(seen.counts[0].minimum() == 1U);
  BOOST_TEST(seen.counts[0].quantile(0.9) == 1U);
  // The first hit of a probe in a process may cost it a fault of its own.
  BOOST_TEST(seen.totals[0] >= 200U);
  BOOST_TEST(seen.totals[0] <= 201U);
}

BOOST_AUTO_TEST_CASE(recursion_is_paired_at_any_depth) {
  NEEDS_PROBES;
  const auto got = counted("work::recurse", {"recurse", "300"});
  const auto& f = got.functions.at(0);
  BOOST_TEST(f.calls == 300U);
  BOOST_TEST(f.seen.recursive == 299U);
  if (f.replaced)
    return test::skip("the exits of the function cannot be told here: Linux sees 64 nested returns");
  BOOST_TEST(f.seen.completed == 300U);
  BOOST_TEST(f.seen.totals[0] == f.seen.counts[0].maximum());
}

BOOST_AUTO_TEST_CASE(longjmp_leaves_calls_unreturned) {
  NEEDS_PROBES;
  const auto got = counted("work::jump_out", {"jump", "100"});
  const auto& f = got.functions.at(0);
  BOOST_TEST(f.calls == 100U);
  BOOST_TEST(f.seen.completed == 50U);
  BOOST_TEST(f.seen.unreturned == 50U);
  BOOST_TEST(f.seen.recursive == 0U);
}

BOOST_AUTO_TEST_CASE(tail_calls_are_calls) {
  NEEDS_PROBES;
  const auto got = counted("work::tail_*", {"tail", "20"});
  BOOST_REQUIRE(got.functions.size() == 2U);
  for (const auto& f : got.functions) {
    BOOST_TEST(f.calls == 20U);
    BOOST_TEST(f.seen.completed == 20U);
  }
}

BOOST_AUTO_TEST_CASE(exception_propagates_through_probed_function) {
  NEEDS_PROBES;
  const auto got = counted("work::throws", {"throw"});
  const auto& f = got.functions.at(0);
  BOOST_TEST(f.calls == 1U);
  BOOST_TEST(f.seen.unreturned == 1U);
  if (f.replaced)
    BOOST_TEST(shell_status(got.exit) == 128 + SIGABRT);
  else
    BOOST_TEST(shell_status(got.exit) == 0);
}

BOOST_AUTO_TEST_CASE(counting_calls_alone_does_not_touch_returns) {
  NEEDS_PROBES;
  auto settings = settings_for("work::throws", {"throw"});
  settings.returns = false;
  const auto got = record_functions(settings);
  BOOST_TEST(got.functions.at(0).calls == 1U);
  BOOST_TEST(shell_status(got.exit) == 0);
}

BOOST_AUTO_TEST_CASE(threads_and_forks_are_followed_or_reported) {
  NEEDS_PROBES;
  for (const char* word : {"threads", "forks"}) {
    const auto got = counted("work::called", {word, "400"});
    if (!got.notes.empty()) return test::skip(got.notes[0]);
    BOOST_TEST(got.functions.at(0).calls == 1200U);
    BOOST_TEST(got.functions.at(0).seen.completed == 1200U);
    BOOST_TEST(shell_status(got.exit) == 0);
  }
}

BOOST_AUTO_TEST_CASE(functions_of_libraries_are_found) {
  NEEDS_PROBES;
  const auto got = counted("libprofiled:*hidden_write*", {"library-write", "3"});
  BOOST_TEST(got.functions.at(0).calls == 1U);
  BOOST_TEST(got.functions.at(0).module.ends_with("/libprofiled.so"));
  BOOST_TEST(counted("library_write", {"library-write", "3"}).functions.at(0).calls == 1U);
}

BOOST_AUTO_TEST_CASE(unknown_function_is_rejected) {
  try {
    static_cast<void>(counted("work::caled", {"call", "1"}));
    BOOST_FAIL("found a function that is not there");
  } catch (const Error& error) {
    BOOST_TEST(error.problem().cause == "there is no such function");
  }
  BOOST_CHECK_THROW(counted("libnothing:f", {"call", "1"}), Error);
  BOOST_CHECK_THROW(counted("libc:*", {"call", "1"}), Error);
}

BOOST_AUTO_TEST_CASE(probes_are_inserted_into_a_running_process_and_removed) {
  NEEDS_PROBES;
  Waiting fixture(500);
  FunctionSettings settings;
  settings.names = {"work::called"};
  settings.who.pids = {fixture.child().pid()};
  const Fifo begun, done; // the command starts when the probes are in place
  settings.who.command = {"sh", "-c", "echo begun > \"$0\"; read answer < \"$1\"", begun.path, done.path};
  auto part = std::async(std::launch::async, [&] { return record_functions(settings); });
  std::string word;
  std::ifstream(begun.path) >> word;
  fixture.go_on();
  char ready[6];
  BOOST_REQUIRE(::read(fixture.said(), ready, sizeof ready) == 6);
  std::ofstream(done.path) << "done\n";
  const auto got = part.get();
  BOOST_TEST(got.functions.at(0).calls == 500U);
  BOOST_TEST(got.functions.at(0).seen.completed == 500U);
  fixture.go_on(); // with the probes taken out
  BOOST_TEST(fixture.child().wait(20s).ok());
}

BOOST_AUTO_TEST_CASE(inlined_function_is_rejected_with_the_reason) {
  NEEDS_PROBES;
  // bump is a template that is inlined everywhere.
  BOOST_TEST(refusal("work::bump").find("was inlined everywhere (") == 0U, refusal("work::bump"));
  BOOST_TEST(refusal("work::nothing_of_this_name") == "there is no such function");
}

BOOST_AUTO_TEST_CASE(probe_cost_is_the_time_of_an_empty_function) {
  NEEDS_PROBES;
  const auto nothing = counted("work::called", {"call", "300"}), spin = counted("work::spin", {"spin", "50"});
  const auto& cost = nothing.functions.at(0).cost;
  if (!cost) return test::skip("probes are calibrated on x86-64 only");
  BOOST_TEST(cost->wall.count() == 100U);
  BOOST_TEST(cost->wall.quantile(0.5) > 0U);
  BOOST_TEST(cost->call_ns >= static_cast<double>(cost->wall.minimum()));
  BOOST_TEST(nothing.functions[0].seen.wall.quantile(0.5) <= 2 * probe_limit(cost->wall)); // x + 1
  BOOST_TEST(spin.functions.at(0).seen.wall.quantile(0.5) > probe_limit(spin.functions[0].cost->wall));
}

BOOST_AUTO_TEST_CASE(uretprobes_detect_returns_on_request) {
  NEEDS_PROBES;
  auto settings = settings_for("work::called", {"call", "100"});
  settings.uretprobe = true;
  const auto recorded = record_functions(settings);
  BOOST_TEST_REQUIRE(recorded.functions.size() == 1U);
  BOOST_TEST(recorded.functions[0].replaced);
  BOOST_TEST(recorded.functions[0].seen.completed == 100U);
}

BOOST_AUTO_TEST_SUITE_END()
