// Regions over calls and threads, with page faults as the known count.
#include "helpers.hpp"
#include "needs.hpp"

#include <recount/group.hpp>
#include <recount/region.hpp>

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <iostream>
#include <malloc.h>
#include <pthread.h>
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
  BOOST_TEST(holds(one.events[1].reason.cause, "no such event"));
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

namespace {

/// What a child writes to stderr in `body` and at exit(3), "hung" if it does not end.
std::string stderr_of_child(const std::function<void()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  std::cout.flush();
  std::fflush(nullptr); // exit(3) would write it again
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    dup2(ends[1], STDERR_FILENO);
    unsetenv("RECOUNT_REGIONS");
    body();
    std::exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? "hung" : "[" + text + "]";
}

} // namespace

// Children of a process that opens events and takes totals at that moment, so that its locks are held.
BOOST_AUTO_TEST_CASE(forked_children_end_and_print_nothing) {
#if defined(__SANITIZE_ADDRESS__)
  return test::skip("LeakSanitizer prints at the exit of a child of several threads");
#endif
  std::atomic<bool> done = false;
  std::vector<std::thread> busy;
  for (int i = 0; i < 2; ++i)
    busy.emplace_back([&done] {
      while (!done) {
        std::thread([] { const Region region("short-lived"); }).join();
        (void)region_totals();
      }
    });
  const auto begin_and_total = [] {
    { const Region known("one"), fresh("child"); }
    std::thread([] { const Region region("thread of a child"); }).join();
    for (const RegionTotal& total : region_totals())
      std::fputs(total.name.c_str(), stderr);
  };
  for (int i = 0; i < 20; ++i) {
    BOOST_TEST(stderr_of_child([] {}) == "[]");
    BOOST_TEST(stderr_of_child(begin_and_total) == "[]");
  }
  done = true;
  for (std::thread& one : busy)
    one.join();
  BOOST_TEST(holds(message([] { // in the parent it is too late, in a child not its own
                     const std::string reported = in_child([] { return message([] { region_events({}); }); });
                     if (holds(reported, "fork(2)")) region_events({});
                   }),
                   "has begun already"));
}

// Each ended thread used to leave a KiB behind.
BOOST_AUTO_TEST_CASE(ended_threads_leave_their_sums_and_no_memory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return test::skip("the allocator of a sanitizer keeps what was freed");
#endif
  const auto threads = [](int amount) {
    for (int i = 0; i < amount; ++i)
      std::thread([] { const Region region("in an ended thread"); }).join();
  };
  threads(20);
  const auto before = mallinfo2().uordblks;
  threads(200);
  BOOST_TEST(mallinfo2().uordblks < before + 200 * 300);
  BOOST_TEST(total_of("in an ended thread").calls == 220U);
  BOOST_TEST(total_of("in an ended thread").threads == 220U);
}

// A thread that is cancelled meanwhile must not unwind there: the process would end.
BOOST_AUTO_TEST_CASE(cancellation_waits_for_regions_and_destructors) {
#if defined(__SANITIZE_ADDRESS__)
  return test::skip("AddressSanitizer does not follow the unwinding of a cancelled thread");
#endif
  const auto first_region = [](void*) -> void* {
    pthread_cancel(pthread_self());
    { const Region region("cancelled"); }
    { const Region region("cancelled"); }
    pthread_testcancel();
    return nullptr;
  };
  const auto destructor = [](void*) -> void* {
    const Group group({"perf::PAGE-FAULTS:u"});
    pthread_cancel(pthread_self());
    return nullptr; // closes
  };
  for (const auto body : {+first_region, +destructor}) {
    pthread_t thread{};
    BOOST_TEST_REQUIRE(pthread_create(&thread, nullptr, body, nullptr) == 0);
    void* result = nullptr;
    pthread_join(thread, &result);
    BOOST_TEST((result == (body == +first_region ? PTHREAD_CANCELED : nullptr)));
  }
  BOOST_TEST(total_of("cancelled").calls == 2U);
  BOOST_TEST(total_of("cancelled").events[0].uncounted == 0U);
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
