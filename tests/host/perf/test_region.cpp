// Regions over calls and threads, with page faults as the known count.
#include "helpers.hpp"
#include "needs.hpp"

#include <recount/region.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <thread>
#include <vector>

using namespace recount;

BOOST_AUTO_TEST_SUITE(regions, *test::needs(test::no_software_events))

namespace {

/// Of a region; 0 calls if there is none.
RegionTotal total_of(const std::string& name) {
  const auto totals = region_totals();
  const auto found = std::ranges::find(totals, name, &RegionTotal::name);
  return found == totals.end() ? RegionTotal{} : *found;
}

void enter(const char* name, std::size_t pages) {
  FreshPages memory(pages);
  const Region region(name);
  memory.touch(0, pages);
}

} // namespace

BOOST_AUTO_TEST_CASE(calls_and_threads_add_up) {
  region_events({"perf::PAGE-FAULTS:u", "perf::NO-SUCH-EVENT"});
  setenv("RECOUNT_REGIONS", "off", 1);
  enter("warm-up", 1); // opens the events
  for (int call = 0; call < 5; ++call)
    enter("one", 20);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([] {
      enter("warm-up", 1);
      for (int call = 0; call < 4; ++call)
        enter("one", 30);
    });
  for (std::thread& one : threads)
    one.join();
  const RegionTotal one = total_of("one");
  BOOST_TEST(one.calls == 17U);
  BOOST_TEST(one.threads == 4U);
  BOOST_TEST_REQUIRE(one.events.size() == 2U);
  BOOST_TEST(one.events[0].count.value() >= 5U * 20 + 12U * 30);
  BOOST_TEST(one.events[0].count.value() <=
             5U * 20 + 12U * 30 + 12); // a thread's first call may touch its stack
  BOOST_TEST(one.events[0].uncounted == 0U);
  BOOST_TEST(!one.events[1].count.has_value()); // not counted is not 0
  BOOST_TEST(holds(one.events[1].reason, "no such event"));
  BOOST_CHECK_THROW(region_events({}), Error);
}

BOOST_AUTO_TEST_CASE(a_nested_region_counts_in_both) {
  {
    const Region outer("outer");
    enter("inner", 10);
    enter("inner", 10);
  }
  BOOST_TEST(total_of("inner").calls == 2U);
  BOOST_TEST(total_of("inner").events[0].count.value() == 20U);
  BOOST_TEST(total_of("outer").events[0].count.value() >= 20U);
}

BOOST_AUTO_TEST_CASE(a_child_counts_nothing) {
  const auto before = total_of("forked").calls;
  BOOST_TEST(in_child([] {
               enter("forked", 5);
               return std::string(total_of("forked").calls == 0 ? "nothing" : "something");
             }) == "nothing");
  BOOST_TEST(total_of("forked").calls == before);
}

BOOST_AUTO_TEST_CASE(the_table_names_what_is_missing) {
  const std::string text =
      region_table({{"solve", 3, 1, {{"A", 42, 0, ""}, {"B", {}, 3, "no such PMU"}, {"C", 7, 1, ""}}}});
  BOOST_TEST(holds(text, "42 A\n"));
  BOOST_TEST(holds(text, "not counted B: no such PMU"));
  BOOST_TEST(holds(text, "7 C (1 call not counted"));
  const std::string hostile = region_table({{"\x1b[31m", 1, 1, {{"\x1b]0;", {}, 1, "\x1b[2J"}}}});
  BOOST_TEST(!holds(hostile, "\x1b"));
}

BOOST_AUTO_TEST_SUITE_END()
