// Threads that make and destroy overflows while the handlers of others run: for a sanitizer.
#include "helpers.hpp"
#include "needs.hpp"

#include <recount/overflow.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
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

// One of them runs at a time: Linux 6.18 gives samples to one of several equal software events of a thread.
BOOST_AUTO_TEST_CASE(there_may_be_any_number_of_objects) {
  constexpr std::size_t many = 300; // each has a ring of its own, in memory that a user may lock
  std::vector<std::unique_ptr<Overflow>> all;
  std::atomic<std::size_t> calls = 0;
  try {
    for (std::size_t i = 0; i < many; ++i)
      all.push_back(std::make_unique<Overflow>(std::vector<OverflowEvent>{{encode("perf::PAGE-FAULTS:u"), 1}},
                                               [&calls](const OverflowCall&) { ++calls; }));
  } catch (const Error& error) {
    if (error.problem().code == ReasonCode::permission || error.problem().code == ReasonCode::no_resources)
      return test::skip(error.what());
    throw;
  }
  for (const auto& one : all) {
    calls = 0;
    one->start();
    FreshPages(1).touch(0, 1);
    one->stop();
    BOOST_TEST_REQUIRE(calls >= 1U);
  }
}

BOOST_AUTO_TEST_CASE(signals_after_the_last_object_do_nothing) {
  const std::string end = in_child([] {
    std::signal(SIGIO, SIG_DFL); // Boost.Test has a handler
    {
      Overflow overflow({{encode("perf::PAGE-FAULTS:u"), 1}}, [](const OverflowCall&) {});
    }
    raise(SIGIO);
    raise(SIGRTMIN + 6);
    return std::string("alive");
  });
  BOOST_TEST(end == "alive");
}

BOOST_AUTO_TEST_CASE(a_handler_of_the_program_for_sigio_is_left_alone) {
  const std::string end = in_child([] {
    static volatile std::sig_atomic_t handled = 0;
    std::signal(SIGIO, [](int) { handled = 1; });
    {
      Overflow overflow({{encode("perf::PAGE-FAULTS:u"), 1}}, [](const OverflowCall&) {});
    }
    raise(SIGIO);
    return std::string(handled == 1 ? "handled" : "taken away");
  });
  BOOST_TEST(end == "handled");
}

BOOST_AUTO_TEST_CASE(what_a_callback_throws_leaves_stop) {
  OverflowOptions options;
  options.delivery = Delivery::thread;
  std::atomic<int> calls = 0;
  const auto thrower = [&calls](const OverflowCall&) {
    ++calls;
    throw std::runtime_error("by the callback");
  };
  {
    Overflow dropped({{encode("perf::PAGE-FAULTS:u"), 1}}, thrower, options);
    dropped.start();
    FreshPages(10).touch(0, 10);
  } // the destructor throws nothing
  calls = 0;
  Overflow overflow({{encode("perf::PAGE-FAULTS:u"), 1}}, thrower, options);
  for (int round = 1; round <= 2; ++round) { // it can be started again
    overflow.start();
    FreshPages(10).touch(0, 10);
    BOOST_CHECK_EXCEPTION(overflow.stop(), std::runtime_error,
                          [](const auto& error) { return error.what() == std::string("by the callback"); });
    BOOST_TEST(calls == round);
    overflow.stop();
  }
}

BOOST_AUTO_TEST_SUITE_END()
