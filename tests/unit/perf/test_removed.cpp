// What counters could see of tasks: times of inherited events, and removals in the records.
#include "count/perf/removed.hpp"
#include "count/perf/sample_open.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <vector>

using namespace recount;
using namespace recount::perf;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(removals)

namespace {
Name executes(std::uint32_t pid, const char* name) {
  return {0, pid, pid, true, name};
}
Mapping maps(std::uint32_t pid) {
  Mapping mapping;
  mapping.pid = mapping.tid = pid;
  return mapping;
}
/// Of one thread on CPUs: for how long the event was enabled and on the CPU, and its follower on the CPU.
SampledCount sum(const std::vector<std::array<std::chrono::nanoseconds, 3>>& cpus) {
  SampledCount count;
  for (const auto& [enabled, running, followed] : cpus)
    add_read(count, {1, 0},
             {static_cast<std::uint64_t>(enabled.count()), static_cast<std::uint64_t>(running.count())},
             static_cast<std::uint64_t>(followed.count()));
  return count;
}
} // namespace

BOOST_AUTO_TEST_CASE(present_time_does_not_depend_on_the_number_of_cpus) {
  std::vector<std::array<std::chrono::nanoseconds, 3>> cpus(20);
  cpus[3] = {200ms, 200ms,
             201ms}; // a thread that stays on one of 20 CPUs; the follower is enabled before exec
  BOOST_TEST(sum(cpus).present_ns == 200'000'000U);
  // 175 ms on one and 26 ms on another, as read from Linux 6.18: enabled 201 ms and 27 ms
  BOOST_TEST(sum({{201ms, 175ms, 175ms}, {27ms, 26ms, 26ms}}).present_ns == 201'000'000U);
  for (auto& cpu : cpus)
    cpu = {200ms, 10ms, 10ms}; // on each in turn
  BOOST_TEST(sum(cpus).present_ns == 200'000'000U);
  BOOST_TEST(sum(cpus).enabled_ns == 4'000'000'000U);
  BOOST_TEST(sum(cpus).occurrences == 20U);
  for (auto& cpu : cpus)
    cpu[1] = 5ms; // multiplexed
  BOOST_TEST(2 * sum(cpus).running_ns == sum(cpus).present_ns);
}

BOOST_AUTO_TEST_CASE(program_that_ends_before_it_maps_its_file_was_removed) {
  Removals all;
  all.add(executes(7, "sh"));
  all.add(maps(7));
  all.add(Fork{0, 8, 8, 7, 7});
  all.add(executes(8, "passwd"));
  all.add(Fork{0, 7, 9, 7, 7});
  all.add(End{0, 7, 9}); // a thread
  all.add(End{0, 8, 8});
  all.add(End{0, 7, 7});
  BOOST_REQUIRE(all.programs().size() == 1U);
  BOOST_TEST(all.programs()[0].name == "passwd");
  BOOST_TEST(all.programs()[0].first);
  BOOST_TEST(
      removed_in_part(all, 30ms, 60ms) ==
      "incomplete: counted in 30 ms of 60 ms of processor time; Linux removed the counters of 1 program "
      "(passwd): set-user-ID or set-group-ID, with capabilities, or not readable");
  BOOST_TEST(
      removed_in_part(all, 1500ms, 12345ms).starts_with("incomplete: counted in 1500 ms of 12345 ms of"));
  BOOST_TEST(
      removed_in_part(all, 30ms, 0ms).starts_with("incomplete: Linux removed the counters of 1 program"));
}

BOOST_AUTO_TEST_CASE(ordinary_ends_are_no_removals) {
  Removals all;
  all.add(Name{0, 7, 7, false, "recount"}); // existed before, or prctl(2)
  all.add(Fork{0, 8, 8, 7, 7});
  all.add(End{0, 8, 8}); // a subshell
  all.add(executes(7, "env"));
  all.add(maps(7));
  all.add(executes(7, "true"));
  all.add(maps(7));
  all.add(End{0, 7, 7});
  BOOST_TEST(all.programs().empty());
  BOOST_TEST(removed_in_part(all, 1ms, 100ms).empty());
}

BOOST_AUTO_TEST_CASE(second_program_of_a_process_is_not_its_first) {
  Removals all;
  all.add(executes(7, "env"));
  all.add(maps(7));
  all.add(executes(7, "ping"));
  all.add(End{0, 7, 7});
  BOOST_REQUIRE(all.programs().size() == 1U);
  BOOST_TEST(!all.programs()[0].first);
}

BOOST_AUTO_TEST_SUITE_END()
