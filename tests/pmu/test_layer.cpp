// recount's counter layer on the simulated machines: hybrid CPUs, slots, precise samples, rotation.
#include "events.hpp"

#include <recount/error.hpp>
#include <recount/group.hpp>
#include <recount/sampling.hpp>
#include <recount/simple.hpp>
#include <recount/user_read.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <sched.h>
#include <span>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace recount;
using recount::test::add_turns;
using recount::test::simulated;

BOOST_AUTO_TEST_SUITE(layer)

namespace {

constexpr double a_turn = test::instructions_a_turn;
constexpr std::int64_t turns = 20'000;
/// Of start, stop and read, each of which is a constant amount (`background` of the machines).
constexpr double besides = 2000;
constexpr std::uint64_t instructions_of_a_turn = 21,
                        max_by_a_call = 2000; // of add_turns(1); of a system call

void run_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  BOOST_REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
}
void run_anywhere() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0U, &set);
  CPU_SET(1U, &set);
  BOOST_REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
}
int allowed() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  return CPU_COUNT(&set);
}

void check_near(double value, double expected, double tolerance) {
  BOOST_TEST(value >= expected - tolerance);
  BOOST_TEST(value <= expected + tolerance);
}

/// Instructions of turns on CPU 0 (performance core) and on CPU 1.
std::vector<Count> count(Counters& counters, std::int64_t on_core, std::int64_t on_atom) {
  run_on(on_core > 0 ? 0 : 1);
  counters.start();
  if (on_core > 0) add_turns(on_core);
  run_on(on_atom > 0 ? 1 : 0);
  if (on_atom > 0) add_turns(on_atom);
  counters.stop();
  run_anywhere();
  return counters.read();
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(both_core_types_count_and_add_up, *only_on("adl")) {
  const struct { std::int64_t core, atom; } shares[] = {{turns, 0}, {0, turns}, {3 * turns, turns}};
  for (const auto& [core, atom] : shares) {
    Counters counters({"perf::INSTRUCTIONS:u"});
    BOOST_TEST_REQUIRE(counters.events().size() == 2U);
    BOOST_TEST(counters.notes().empty());
    BOOST_TEST(allowed() == 2); // the trial leaves the thread where it may run
    const auto counts = count(counters, core, atom);
    const std::size_t of_core = counters.events()[0].pmu == "cpu_core" ? 0 : 1;
    check_near(static_cast<double>(counts[of_core].value.value_or(0)), a_turn * static_cast<double>(core),
               besides);
    check_near(static_cast<double>(counts[1 - of_core].value.value_or(0)), a_turn * static_cast<double>(atom),
               besides);
    const Count sum = sum_of_core_types(counts);
    const double both = a_turn * static_cast<double>(core + atom);
    check_near(static_cast<double>(sum.value.value_or(0)), both, 2 * besides);
    // Less than 1 where the thread waits for its CPU; a part alone would be scaled by the time on the other.
    BOOST_TEST(share(sum) <= 1.001);
    if (core > 0 && atom > 0)
      for (const Count& part : counts)
        BOOST_TEST(share(sum) > share(part));
    check_near(scale(sum).value() * share(sum), static_cast<double>(sum.value.value_or(0)), 1);
  }
}

BOOST_AUTO_TEST_CASE(a_core_type_that_nothing_ran_on_has_no_value, *only_on("adl")) {
  Counters counters({"perf::CYCLES:u"});
  const auto counts = count(counters, turns, 0);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counters.events()[i].pmu == "cpu_core") continue;
    BOOST_TEST(!counts[i].value.has_value());
    BOOST_TEST(holds(counts[i].reason->text(), "core type"), counts[i].reason->text());
  }
}

BOOST_AUTO_TEST_CASE(an_event_that_one_core_type_lacks_counts_on_the_other, *only_on("adl")) {
  Counters counters({"perf::L1-DCACHE-LOAD-MISSES:u"}); // the efficient core has no such event: ENOENT
  BOOST_TEST_REQUIRE(counters.events().size() == 1U);
  BOOST_TEST(counters.events()[0].pmu == "cpu_core");
  BOOST_TEST_REQUIRE(counters.notes().size() == 1U);
  BOOST_TEST(holds(counters.notes()[0], "cpu_atom"), counters.notes()[0]);
  BOOST_TEST(holds(counters.notes()[0], "ENOENT"), counters.notes()[0]);
}

BOOST_AUTO_TEST_CASE(software_events_count_on_both_core_types, *only_on("adl")) {
  Counters counters({"perf::TASK-CLOCK:u", "perf::INSTRUCTIONS:u"});
  BOOST_TEST(counters.groups().size() == 3U); // one for each core type, and one for what needs neither
  BOOST_TEST(counters.notes().empty());
}

BOOST_AUTO_TEST_CASE(a_meter_adds_core_types, *only_on("adl")) {
  simple::IpcMeter meter;
  run_on(0);
  add_turns(turns);
  run_on(1);
  add_turns(turns);
  run_anywhere();
  const simple::Ipc ipc = meter.read();
  BOOST_TEST_REQUIRE(ipc.instructions.has_value(), ipc.reason.text());
  // Scaled by real times, which have nothing to do with the simulated work.
  check_near(static_cast<double>(*ipc.instructions), 2 * a_turn * turns, 0.8 * a_turn * turns);
  BOOST_TEST(ipc.ipc.has_value());
}

BOOST_AUTO_TEST_CASE(without_file_descriptors_the_number_of_counters_is_unknown, *only_on("skl")) {
  BOOST_TEST(simple::counters().value.value_or(0) > 2);
  const int free = ::dup(STDERR_FILENO);
  ::close(free);
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit few{static_cast<rlim_t>(free) + 2, static_cast<rlim_t>(free) + 2};
    ::setrlimit(RLIMIT_NOFILE, &few);
    const simple::CounterCount counters = simple::counters();
    ::_exit(counters.value ? *counters.value : counters.reason.code == ReasonCode::no_resources ? 0 : 100);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_CASE(samples_come_from_the_cpus_of_each_core_type, *only_on("adl")) {
  std::vector<SampledEvent> events;
  for (Event& event : encode_each("perf::INSTRUCTIONS:u"))
    events.push_back({std::move(event), 10'000, 0});
  SamplingOptions options;
  options.inherit = true; // opens on each CPU
  options.follow = true;  // times of presence
  const std::clock_t before = std::clock();
  Sampling sampling(events, options);
  sampling.start();
  run_on(0);
  add_turns(turns);
  run_on(1);
  add_turns(turns);
  sampling.stop();
  run_anywhere();
  std::size_t samples[2] = {};
  sampling.finish([&](const Record& record) {
    if (const auto* sample = std::get_if<Sample>(&record)) ++samples[sample->event];
  });
  for (const std::size_t n : samples) // of events bound to a CPU the simulation samples the clock
    BOOST_TEST(n > 0U);
  double present = 0;
  for (const SampledCount& count : sampling.report().events) {
    BOOST_TEST(count.present_ns > 0U);
    present += static_cast<double>(count.present_ns) / 1e9;
  }
  // On one core type at a time, while each event is enabled on both.
  BOOST_TEST(present < 1.05 * static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
}

BOOST_AUTO_TEST_CASE(metrics_get_slots_as_their_leader, *only_on("spr")) {
  const std::vector<std::vector<std::string>> lists{
      {"slots", "topdown-retiring", "topdown-be-bound"},
      {"perf::INSTRUCTIONS:u", "slots", "topdown-retiring"},
      {"topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound"},
      {"perf::INSTRUCTIONS:u", "topdown-be-bound"}};
  for (const auto& list : lists) {
    Counters counters(list, Domain::user);
    counters.start();
    test::execute_block("integer_multiply", 20'000);
    counters.stop();
    const auto& counts = counters.read();
    BOOST_TEST_REQUIRE(counts.size() == list.size());
    for (const Count& count : counts) {
      BOOST_TEST(count.value.has_value(), count.reason->text());
      BOOST_TEST(!multiplexed(count));
    }
    for (std::size_t i = 0; i < list.size(); ++i) // a chain of multiplications waits for itself
      if (list[i] == "topdown-be-bound") BOOST_TEST(*counts[i].value > 100'000U);
  }
}

BOOST_AUTO_TEST_CASE(names_of_fixed_counters_count_as_the_generic_names_do, *only_on("spr")) {
  for (const auto& [generic, own] : {std::pair("perf::CYCLES:u", "spr::CPU_CLK_UNHALTED:THREAD:u"),
                                     std::pair("perf::INSTRUCTIONS:u", "spr::INST_RETIRED:ANY:u")}) {
    Group group({generic, own});
    group.start();
    add_turns(turns);
    group.stop();
    const auto& counts = group.read();
    BOOST_TEST(counts[0].value.value_or(0) > static_cast<std::uint64_t>(turns));
    BOOST_TEST(counts[0].value.value_or(0) == counts[1].value.value_or(0), own);
  }
}

BOOST_AUTO_TEST_CASE(precision_of_the_name_is_asked_for_and_granted, *only_on("skl")) {
  const struct {
    const char* name;
    unsigned precise;
  } names[] = {{"perf::INSTRUCTIONS:u", 0},   {"perf::INSTRUCTIONS:up", 1},
               {"perf::INSTRUCTIONS:upp", 2}, {"perf::INSTRUCTIONS:Pu", 3},
               {"cpu/instructions/ppp", 3},   {"skl::INST_RETIRED:ANY_P:u:precise=2", 2}};
  for (const auto& [name, precise] : names) {
    const Sampling sampling({{encode(name), 10'000}});
    BOOST_TEST(sampling.events()[0].precise == precise, name << ": " << sampling.events()[0].precise);
    Group counting(std::vector<std::string>{name}); // precision is about samples, and refused without them
    counting.start();
    counting.stop();
    BOOST_TEST(counting.read()[0].value.has_value());
  }
}

BOOST_AUTO_TEST_CASE(a_group_that_the_watchdog_keeps_off_is_split, *only_on("skl")) {
  // Four general counters, of which the watchdog may hold one: five cannot count at once.
  Counters counters({"skl::L1D:REPLACEMENT:u", "skl::BR_INST_RETIRED:CONDITIONAL:u",
                     "skl::BR_INST_RETIRED:NEAR_TAKEN:u", "skl::MEM_INST_RETIRED:ALL_LOADS:u",
                     "skl::MEM_INST_RETIRED:ALL_STORES:u"});
  BOOST_TEST(counters.groups().size() > 1U);
  const std::clock_t begin = std::clock();
  do { // several turns of the rotation, which goes on in CPU time
    counters.start();
    add_turns(turns);
    counters.stop();
  } while (std::clock() - begin < CLOCKS_PER_SEC / 5);
  for (const Count& count : counters.read())
    BOOST_TEST(count.value.has_value(), count.reason->text());
}

BOOST_AUTO_TEST_CASE(a_long_rotation_is_waited_for, *only_on("skl")) {
  // With --mux-ms 40 this group counts after up to 40 ms only, when the other has had its turn.
  Counters other({"skl::L1D:REPLACEMENT:u", "skl::BR_INST_RETIRED:CONDITIONAL:u",
                  "skl::BR_INST_RETIRED:NEAR_TAKEN:u", "skl::MEM_INST_RETIRED:ALL_LOADS:u"});
  other.start();
  BOOST_CHECK_NO_THROW(Group({"skl::MEM_INST_RETIRED:ALL_STORES:u", "skl::BR_MISP_RETIRED:CONDITIONAL:u"}));
}

BOOST_AUTO_TEST_CASE(user_space_reads_of_a_group_are_those_of_read, *only_on("skl")) {
  const char* const wish = std::getenv("RECOUNT_TEST_READS");
  const long reads = wish != nullptr ? std::stol(wish) : 100'000;
  const std::vector<Event> all{encode("perf::INSTRUCTIONS:u"), encode("perf::BRANCHES:u"),
                               encode("skl::BR_INST_RETIRED:CONDITIONAL:u"),
                               encode("skl::MEM_INST_RETIRED:ALL_LOADS:u")};
  for (const std::size_t size : {1U, 2U, 4U}) {
    UserRead counter(std::vector(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size)));
    Counters others(
        {"skl::UOPS_ISSUED:ANY:u", "skl::UOPS_EXECUTED:THREAD:u", "skl::UOPS_RETIRED:RETIRE_SLOTS:u"});
    counter.start();
    std::array<std::uint64_t, 4> before{}, now{};
    const auto values = std::span(now).first(size);
    bool known = counter.values(values);
    long exact = 0, by_call = 0, none = 0, wrong = 0;
    for (long i = 0; i < reads; ++i) {
      bool disturbed = true;
      before = now;
      switch (i % 1000) {
      case 0: run_on(static_cast<int>(i / 1000 % 2)); break; // a migration
      case 300: counter.stop(); break;                       // index 0
      case 301: counter.start(); break;
      case 599: add_turns(600'000); break; // so that rotation goes on between
      case 600: others.start(); break;     // more events than counters
      case 620: others.stop(), counter.reset(); break;
      default: disturbed = false;
      }
      add_turns(1);
      const std::uint64_t calls = counter.system_calls();
      const bool before_known = known;
      known = counter.values(values);
      const bool called = counter.system_calls() != calls;
      by_call += called;
      if (!known)
        ++none;
      else if (disturbed || !before_known)
        continue;
      else if (called)
        wrong += now[0] < before[0] || now[0] - before[0] > instructions_of_a_turn + max_by_a_call;
      else
        ++exact,
            wrong += now[0] - before[0] != instructions_of_a_turn || (size > 1 && now[1] - before[1] != 2);
    }
    counter.stop();
    run_anywhere();
    BOOST_TEST_CONTEXT(size << " events: " << exact << " exact, " << by_call << " by call, " << none
                            << " none") {
      BOOST_TEST(wrong == 0);
      BOOST_TEST(exact > reads * 3 / 4);
      BOOST_TEST(by_call > 0);
      BOOST_TEST((none > 0) == (size == 4)); // seven events and four counters
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
