// What an event set of PAPI does: start, read, accumulate, reset, stop; several sets; threads; errors by
// name.
#include "base/process/child.hpp"
#include "no_papi.hpp"
#include "region.hpp"
#include "skip.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>
#include <recount/timers.hpp>

#include <boost/test/unit_test.hpp>
#include <papi.h>

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace recount;
using test::Pages;

BOOST_AUTO_TEST_SUITE(set, *test::needs(test::no_papi))

namespace {
const std::string faults = "perf::PAGE-FAULTS";
const std::string switches = "perf::CONTEXT-SWITCHES";

/// The pages that `region` needs besides its own are mapped by running it once before.
long long count(PapiSet& set, std::size_t pages) {
  const Pages fresh(pages);
  std::array<long long, 1> value{};
  set.start();
  fresh.touch();
  set.stop(value);
  return value[0];
}

template <class Call>
Problem problem_of(const Call& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.problem();
  }
  BOOST_FAIL("no error");
  return {{}, Reason()};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
} // namespace

BOOST_AUTO_TEST_CASE(start_counts_from_zero_each_time) {
  PapiSet set({faults});
  count(set, 10);
  BOOST_TEST(count(set, 100) == 100);
  BOOST_TEST(count(set, 7) == 7);
}

BOOST_AUTO_TEST_CASE(read_goes_on_and_stop_keeps_the_last_values) {
  PapiSet set({faults, "perf::MINOR-FAULTS"});
  set.start();
  set.stop();
  std::array<long long, 2> a{}, b{}, c{};
  const Pages first(20), second(30);
  set.start();
  first.touch();
  set.read(a);
  second.touch();
  set.read(b);
  set.stop(c);
  BOOST_TEST(a[0] == 20);
  BOOST_TEST(b[0] == 50);
  BOOST_TEST(c[0] == 50);
  BOOST_TEST(c[1] == 50);
  BOOST_TEST(set.read() == (std::vector<long long>{50, 50}));
  BOOST_TEST(!set.running());
}

BOOST_AUTO_TEST_CASE(accumulate_adds_and_zeroes) {
  PapiSet set({faults});
  count(set, 1);
  std::vector<long long> total{1000}, rest;
  const Pages first(20), second(30);
  set.start();
  set.accumulate(rest); // an empty vector counts as zeroes; this warms the code as well
  set.reset();
  first.touch();
  set.accumulate(total);
  BOOST_TEST(total == (std::vector<long long>{1020}));
  set.reset();
  second.touch();
  set.accumulate(total);
  BOOST_TEST(total == (std::vector<long long>{1050}));
  BOOST_TEST(set.stop()[0] < 30); // zeroed by accumulate
}

BOOST_AUTO_TEST_CASE(reset_zeroes_and_goes_on) {
  PapiSet set({faults});
  count(set, 1);
  std::array<long long, 1> value{};
  const Pages before(64), after(3);
  set.start();
  before.touch();
  set.reset();
  after.touch();
  set.stop(value);
  BOOST_TEST(value[0] == 3);
}

BOOST_AUTO_TEST_CASE(several_sets_run_one_after_the_other) {
  PapiSet one({faults}), two({faults, switches}, Domain::all);
  count(one, 1);
  BOOST_TEST(count(one, 12) == 12);
  two.start();
  test::sleep_often(3);
  BOOST_TEST(two.stop()[1] >= 3);
  BOOST_TEST(count(one, 9) == 9);
  one.start();
  const auto problem = problem_of([&] { two.start(); });
  BOOST_TEST(has(problem.cause, "PAPI_EISRUN"));
  BOOST_TEST(has(problem.fix, "one set per component"));
  one.stop();
}

BOOST_AUTO_TEST_CASE(a_set_can_be_moved_while_it_runs) {
  PapiSet set({faults});
  count(set, 1);
  const Pages fresh(40);
  set.start();
  fresh.touch();
  PapiSet other = std::move(set);
  BOOST_TEST(other.stop()[0] >= 40);
}

BOOST_AUTO_TEST_CASE(threads_count_themselves) {
  std::array<long long, 3> got{};
  const auto work = [&](std::size_t i) {
    PapiSet mine({faults});
    count(mine, 1);
    for (int round = 0; round < 20; ++round)
      got[i] += count(mine, 10 * (i + 1));
  };
  std::thread a(work, 0), b(work, 1);
  work(2);
  a.join();
  b.join();
  BOOST_TEST(got[0] == 200);
  BOOST_TEST(got[1] == 400);
  BOOST_TEST(got[2] == 600);
}

BOOST_AUTO_TEST_CASE(the_domain_decides_about_context_switches) {
  const auto switched = [](const std::string& name, Domain domain) {
    PapiSet set({name}, domain);
    set.start();
    test::sleep_often(5);
    return set.stop()[0];
  };
  // The trap: they happen inside Linux, so PAPI's default domain sees none of them.
  BOOST_TEST(switched(switches, Domain::user) == 0);
  BOOST_TEST(switched(switches, Domain::all) >= 5);
  BOOST_TEST(switched(switches, Domain::kernel) >= 5);
  // A qualifier is exact, whatever the set's domain, and in every form.
  for (const std::string k : {":k", ":k=1", ":uk", ":u=0:k=1"})
    BOOST_TEST(switched(switches + k, Domain::user) >= 5, k);
  for (const std::string u : {":u", ":u=1", ":u=1:k=0"})
    BOOST_TEST(switched(switches + u, Domain::all) == 0, u);
}

BOOST_AUTO_TEST_CASE(a_qualifier_narrows_as_well) {
  // User code takes these faults: a kernel-only count must not have them, whatever else the set counts.
  for (const Domain domain : {Domain::user, Domain::all}) {
    PapiSet set({faults + ":k", faults + ":u"}, domain);
    std::array<long long, 2> got{};
    for (int round = 0; round < 2; ++round) {
      const Pages fresh(64);
      set.start();
      fresh.touch();
      set.stop(got);
    }
    BOOST_TEST(got[0] == 0);
    BOOST_TEST(got[1] == 64);
  }
}

BOOST_AUTO_TEST_CASE(one_set_may_mix_domains) {
  PapiSet set({switches + ":u", switches + ":k", switches}, Domain::all);
  set.start();
  test::sleep_often(4);
  const auto got = set.stop();
  BOOST_TEST(got[0] == 0);
  BOOST_TEST(got[1] >= 4);
  BOOST_TEST(got[2] == got[1]);
}

BOOST_AUTO_TEST_CASE(errors_tell_their_name) {
  PapiSet set({faults});
  BOOST_TEST(has(problem_of([&] { set.stop(); }).cause, "PAPI_ENOTRUN"));
  BOOST_TEST(has(problem_of([&] { (void)set.read(); }).cause, "PAPI_ENOTRUN"));
  BOOST_TEST(has(problem_of([&] { set.reset(); }).cause, "PAPI_ENOTRUN"));
  std::vector<long long> total;
  BOOST_TEST(has(problem_of([&] { set.accumulate(total); }).cause, "PAPI_ENOTRUN"));
  set.start();
  BOOST_TEST(has(problem_of([&] { set.start(); }).cause, "PAPI_EISRUN"));
  BOOST_TEST(has(problem_of([&] { set.read(std::span<long long>{}); }).cause, "holds 0 values"));
  set.stop();
}

BOOST_AUTO_TEST_CASE(names_that_cannot_be_counted_say_why) {
  const auto named = [](std::vector<std::string> names) {
    return problem_of([&] { PapiSet set(std::move(names)); });
  };
  BOOST_TEST(has(named({"PAPI_L1_DMC"}).fix, "PAPI_L1_DCM"));
  BOOST_TEST(has(named({"perf::PAGE-FALTS"}).fix + named({"perf::PAGE-FALTS"}).cause, "PAGE-FAULTS"));
  BOOST_TEST(has(named({"msr/tsc/"}).cause, "libpfm4's event names only"));
  BOOST_TEST(has(named({"mem:0x1000/4:w"}).cause, "libpfm4's event names only"));
  BOOST_TEST(has(named({}).cause, "no events"));
  BOOST_TEST(has(named({faults, faults}).cause, "twice"));
  BOOST_TEST(has(named({faults, faults}).cause, "PAPI_ECNFLCT"));
}

namespace {
constexpr auto fresh_process = "RECOUNT_TEST_FRESH_PROCESS";

/// Executes the body in a process in which PAPI was not used before: this case alone in another one.
void in_fresh_process(const std::function<void()>& body) {
  if (std::getenv(fresh_process) != nullptr) return body();
  process::Spawn self;
  const std::string name = boost::unit_test::framework::current_test_case().p_name;
  self.argv = {"/proc/self/exe", "--run_test=set/" + name};
  // PAPI 7.0, initialised again, writes to a table that PAPI_shutdown() freed: it must not be a mapping.
  self.environment = {{fresh_process, "1"}, {"MALLOC_MMAP_THRESHOLD_", "16777216"}};
  const auto run = process::capture(self, {}, std::chrono::seconds(60));
  if (run.err.find("SKIP:") != std::string::npos)
    return test::skip(run.err.substr(run.err.find("SKIP:") + 6));
  BOOST_TEST(run.exit.ok(), process::describe(run.exit) << run.out << run.err);
}

std::unique_ptr<PapiSet> lives_to_the_end;
} // namespace

BOOST_AUTO_TEST_CASE(the_first_use_may_be_on_a_thread_that_ends) {
  in_fresh_process([] {
    std::thread([] { PapiSet set({faults}); }).join();
    lives_to_the_end = std::make_unique<PapiSet>(std::vector{faults});
    lives_to_the_end->start(); // crashed at exit, where it stops
    std::thread([] { PapiSet set({faults}); }).join();
  });
}

BOOST_AUTO_TEST_CASE(a_program_may_shut_papi_down) {
  in_fresh_process([] {
    PapiSet old({faults});
    BOOST_TEST(count(old, 1) >= 1);
    PAPI_shutdown();
    BOOST_TEST(has(problem_of([&] { old.start(); }).cause, "shut down"));
    {
      PapiSet set({faults}); // has the handle that the old one had
      BOOST_TEST(has(problem_of([&] { old.start(); }).cause, "shut down"));
      { const PapiSet moved = std::move(old); }
      BOOST_TEST(count(set, 10) >= 10);
    }
    PAPI_shutdown();
    BOOST_TEST(count(old = PapiSet({faults}), 1) >= 1);
  });
}

BOOST_AUTO_TEST_CASE(what_linux_refuses_has_papis_name) {
  PapiSet spare({faults}); // PAPI's own first descriptors are open by now
  const auto child = process::in_fork(
      [](int fd) {
        const rlimit few{static_cast<rlim_t>(fd) + 1, static_cast<rlim_t>(fd) + 1};
        ::setrlimit(RLIMIT_NOFILE, &few);
        const auto problem = problem_of([] {
          PapiSet set({faults, "perf::MINOR-FAULTS", "perf::MAJOR-FAULTS"});
        });
        const std::string text = problem.cause + "\n" + problem.fix;
        return ::write(fd, text.data(), text.size()) > 0 ? 0 : 1;
      },
      std::chrono::seconds(20));
  BOOST_TEST(has(child.out, "PAPI_E"), child.out << child.err);
}

BOOST_AUTO_TEST_CASE(hardware_without_a_pmu_is_said) {
  bool bad = true;
  try {
    PapiSet set({"perf::INSTRUCTIONS"});
    set.start();
    const auto got = set.stop();
    test::skip(fmt::format("this machine counts instructions ({}): nothing is missing to be said", got[0]));
    return;
  } catch (const Error& e) {
    bad = e.kind() == ErrorKind::bad_input;
    BOOST_TEST(has(e.problem().cause, "PAPI_"));
    BOOST_TEST(has(e.problem().setting, "/sys/bus/event_source/devices contains"));
  }
  BOOST_TEST(!bad);
}

BOOST_AUTO_TEST_CASE(timers_distinguish_wall_and_processor_time) {
  const auto real = papi::real_ns(), processor = papi::virtual_ns();
  const auto real_us = papi::real_us(), ticks = papi::real_cycles();
  test::sleep_often(100); // 20 ms asleep at least
  BOOST_TEST(papi::real_ns() - real >= 20'000'000);
  BOOST_TEST(papi::real_us() - real_us >= 20'000);
  BOOST_TEST(papi::real_cycles() > ticks);
  BOOST_TEST(papi::virtual_ns() - processor < papi::real_ns() - real);
  const auto before_us = papi::virtual_us(), cycles = papi::virtual_cycles(), before = papi::virtual_ns();
  while (papi::virtual_ns() - before < 5'000'000) {
  }
  BOOST_TEST(papi::virtual_us() - before_us >= 4'999);
  BOOST_TEST(papi::virtual_cycles() > cycles);
}

BOOST_AUTO_TEST_SUITE_END()
