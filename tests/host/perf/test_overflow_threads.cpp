// Threads that make and destroy overflows while the handlers of others run: for a sanitizer.
#include "helpers.hpp"
#include "needs.hpp"

#include <recount/overflow.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <thread>
#include <vector>

using namespace recount;

BOOST_AUTO_TEST_SUITE(overflow_threads, *test::needs(test::no_software_events))

namespace {

constexpr std::size_t pages = 500;
constexpr int rounds = 40;

/// Signals without a pause: each handler looks for the object that it is for.
void overflow_often(std::atomic<int>& calls, std::atomic<int>& wrong) {
  const auto self = static_cast<std::uint32_t>(gettid());
  Overflow overflow({{encode("perf::PAGE-FAULTS:u"), 1}}, [&calls, &wrong, self](const OverflowCall& call) {
    ++calls;
    if (call.tid != self) ++wrong;
  });
  for (int round = 0; round < rounds; ++round) {
    FreshPages memory(pages);
    overflow.start();
    memory.touch(0, pages);
    overflow.stop();
  }
}

/// Objects that live for a moment, half of them destroyed while they count.
void make_and_destroy(const std::atomic<int>& running) {
  for (int round = 0; running > 0; ++round) {
    Overflow overflow({{encode("perf::PAGE-FAULTS:u"), 1000}}, [](const OverflowCall&) {});
    if (round % 2 == 0) overflow.start();
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_handler_never_meets_an_object_that_another_thread_destroys) {
  std::atomic<int> wrong = 0, calls = 0, running = 2;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      overflow_often(calls, wrong);
      --running;
    });
    threads.emplace_back([&] { make_and_destroy(running); });
  }
  for (std::thread& one : threads)
    one.join();
  BOOST_TEST(wrong == 0);
  BOOST_TEST(calls >= 2 * rounds * static_cast<int>(pages));
}

BOOST_AUTO_TEST_SUITE_END()
