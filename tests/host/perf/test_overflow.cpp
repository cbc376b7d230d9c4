// Overflow: a call every N occurrences, by signal and by thread, by interrupt and by timer.
#include "base/process/signals.hpp"
#include "helpers.hpp"
#include "needs.hpp"
#include "target.hpp"

#include <recount/group.hpp>
#include <recount/overflow.hpp>

#include <fmt/core.h>

#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <set>
#include <thread>

using namespace recount;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(overflow, *test::needs(test::no_software_events))

namespace {

/// What a handler may fill: everything is there beforehand.
struct Seen {
  struct Call {
    std::uint64_t events = 0, address = 0, data_address = 0, program_counter = 0;
    std::uint64_t times = 0, excess = 0;
    bool emulated = false, context = false;
    std::uint32_t tid = 0;
  };
  std::array<Call, 4096> calls;
  std::atomic<std::size_t> count = 0;

  OverflowCallback callback() {
    return [this](const OverflowCall& call) {
      Call& into = calls[count % calls.size()];
      into.events = call.events;
      into.address = call.address;
      into.data_address = call.data_address;
      into.emulated = call.emulated;
      into.context = call.context != nullptr;
      into.tid = call.tid;
      into.times = call.overflowed[0].times;
      into.excess = call.overflowed[0].excess;
#if defined(__x86_64__)
      if (call.context != nullptr)
        into.program_counter = static_cast<std::uint64_t>(call.context->uc_mcontext.gregs[REG_RIP]);
#endif
      ++count;
    };
  }
};

OverflowEvent faults(std::uint64_t threshold) {
  return {encode("perf::PAGE-FAULTS:u"), threshold};
}

OverflowOptions by_thread() {
  OverflowOptions options;
  options.delivery = Delivery::thread;
  return options;
}

/// Every page once beforehand, so that neither stack nor handler faults in between.
void warm(Overflow& overflow, FreshPages& memory, std::size_t pages) {
  overflow.start();
  memory.touch(0, pages);
  overflow.stop();
}

} // namespace

BOOST_AUTO_TEST_CASE(a_call_every_ten_faults_by_signal_and_by_thread) {
  for (const auto& options : {OverflowOptions{}, by_thread()}) {
    FreshPages memory(1101);
    const auto seen = std::make_unique<Seen>();
    Overflow overflow({faults(10)}, seen->callback(), options);
    warm(overflow, memory, 100);
    const auto before = overflow.counts()[0];
    const std::size_t calls = seen->count;
    BOOST_TEST(before.overflows == before.occurrences / 10);
    overflow.start();
    memory.touch(100, 1101);
    overflow.stop();
    const auto after = overflow.counts()[0];
    BOOST_TEST(after.occurrences - before.occurrences >= 1001U);
    BOOST_TEST(after.occurrences - before.occurrences < 1011U); // shadow memory, in a sanitised run
    BOOST_TEST(after.overflows == after.occurrences / 10);
    BOOST_TEST(seen->count == after.overflows);
    BOOST_TEST(overflow.missed() == 0U);
    BOOST_TEST(!overflow.emulated(0));
    for (std::size_t i = calls; i < seen->count; ++i) {
      const auto& call = seen->calls[i];
      BOOST_TEST(call.events == 1U);
      BOOST_TEST(call.times == 1U);
      BOOST_TEST(call.address != 0U);
      BOOST_TEST(call.data_address != 0U);
      BOOST_TEST(!call.emulated);
      BOOST_TEST(call.tid == static_cast<std::uint32_t>(gettid()));
      BOOST_TEST(call.context == (options.delivery == Delivery::signal));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_context_is_that_of_the_overflow, *test::needs(test::no_breakpoints)) {
#if defined(__x86_64__)
  alignas(8) static volatile std::uint64_t watched = 0;
  const auto name = fmt::format("mem:{:#x}/8:w", reinterpret_cast<std::uintptr_t>(&watched));
  const auto seen = std::make_unique<Seen>();
  Overflow overflow({{encode(name), 7}}, seen->callback());
  overflow.start();
  for (int i = 0; i < 700; ++i)
    watched = 1;
  overflow.stop();
  BOOST_TEST(seen->count == 100U);
  for (std::size_t i = 0; i < seen->count; ++i)
    BOOST_TEST(seen->calls[i].program_counter == seen->calls[i].address);
#endif
}

BOOST_AUTO_TEST_CASE(several_events_at_once) {
  for (const auto& options : {OverflowOptions{}, by_thread()}) {
    FreshPages memory(1101);
    const auto seen = std::make_unique<Seen>();
    Overflow overflow({faults(10), {encode("perf::MINOR-FAULTS:u"), 20}, {encode("perf::MAJOR-FAULTS:u"), 1}},
                      seen->callback(), options);
    overflow.start();
    memory.touch(0, 1101);
    overflow.stop();
    const auto counts = overflow.counts();
    std::array<std::uint64_t, 3> reported{};
    std::size_t both = 0;
    for (std::size_t i = 0; i < seen->count; ++i) {
      for (std::size_t e = 0; e < 3; ++e)
        reported[e] += seen->calls[i].events >> e & 1U;
      both += seen->calls[i].events == 3 ? 1U : 0U;
    }
    for (std::size_t e = 0; e < 3; ++e)
      BOOST_TEST(reported[e] == counts[e].overflows);
    BOOST_TEST(reported[0] == counts[0].occurrences / 10);
    BOOST_TEST(reported[1] == counts[1].occurrences / 20);
    if (counts[0].occurrences == counts[1].occurrences)
      BOOST_TEST(both == reported[1]); // every second time both
  }
}

BOOST_AUTO_TEST_CASE(another_threshold_while_running) {
  for (const auto& options : {OverflowOptions{}, by_thread()}) {
    FreshPages memory(1301);
    const auto seen = std::make_unique<Seen>();
    Overflow overflow({faults(10)}, seen->callback(), options);
    warm(overflow, memory, 100);
    overflow.start();
    memory.touch(100, 300);
    overflow.set_threshold(0, 50);
    const auto first = overflow.counts()[0].occurrences;
    memory.touch(300, 1301);
    overflow.stop();
    const auto more = overflow.counts()[0].occurrences - first;
    BOOST_TEST(more >= 1001U);
    const auto reported = overflow.counts()[0].overflows - first / 10;
    BOOST_TEST(reported >= more / 50);
    BOOST_TEST(reported <= more / 50 + 2);
  }
}

BOOST_AUTO_TEST_CASE(a_callback_may_stop_it_and_change_the_threshold) {
  for (const auto& options : {OverflowOptions{}, by_thread()}) {
    FreshPages memory(1101);
    std::atomic<int> calls = 0;
    Overflow* self = nullptr;
    Overflow overflow(
        {faults(10)},
        [&](const OverflowCall&) {
          if (++calls == 3) self->set_threshold(0, 20);
          if (calls == 5) self->stop();
        },
        options);
    self = &overflow;
    overflow.start();
    memory.touch(0, 1101);
    overflow.stop();
    BOOST_TEST(calls == 5);
  }
}

BOOST_AUTO_TEST_CASE(what_the_callback_does_is_not_counted) {
  FreshPages memory(1001), other(1001);
  std::atomic<std::size_t> next = 0;
  Overflow overflow({faults(10)}, [&](const OverflowCall&) {
    other.touch(next, next + 5); // five faults a call
    next += 5;
  });
  overflow.start();
  memory.touch(0, 1001);
  overflow.stop();
  BOOST_TEST(next == 5 * overflow.counts()[0].overflows);
  BOOST_TEST(next >= 500U);
  BOOST_TEST(overflow.counts()[0].occurrences < 1050U);
}

BOOST_AUTO_TEST_CASE(by_a_timer_when_asked_to) {
  for (auto options : {OverflowOptions{}, by_thread()}) {
    FreshPages memory(4001);
    options.emulate = true;
    options.interval = 2ms;
    const auto seen = std::make_unique<Seen>();
    Overflow overflow({faults(10)}, seen->callback(), options);
    BOOST_TEST(overflow.emulated(0));
    overflow.start();
    for (std::size_t page = 0; page < 4001; page += 500) {
      memory.touch(page, std::min<std::size_t>(page + 500, 4001));
      spin(5ms);
    }
    overflow.stop();
    const auto count = overflow.counts()[0];
    std::uint64_t times = 0;
    for (std::size_t i = 0; i < seen->count; ++i) {
      const auto& call = seen->calls[i];
      times += call.times;
      BOOST_TEST(call.emulated);
      BOOST_TEST(call.times > 0U);
      BOOST_TEST(call.excess < 10U);
      BOOST_TEST(call.address != 0U);
    }
    BOOST_TEST(seen->count >= 3U); // the timer of a busy machine may be late, and then tells of more at once
    BOOST_TEST(times == count.overflows);
    BOOST_TEST(times == count.occurrences / 10); // nothing is left out: it spins at the end
  }
}

BOOST_AUTO_TEST_CASE(by_a_timer_where_an_event_cannot_interrupt) {
  if (const auto why = message([] { Group group(std::vector<std::string>{"msr/tsc/"}); }); !why.empty())
    return skip(why);
  for (auto options : {OverflowOptions{}, by_thread()}) {
    options.interval = 2ms;
    FreshPages memory(101);
    const auto seen = std::make_unique<Seen>();
    Overflow overflow({{encode("msr/tsc/"), 1000}, faults(10)}, seen->callback(), options);
    BOOST_TEST(overflow.emulated(0));
    BOOST_TEST(!overflow.emulated(1));
    overflow.start();
    memory.touch(0, 101);
    spin(20ms);
    overflow.stop();
    bool timer = false;
    for (std::size_t i = 0; i < seen->count; ++i) {
      const auto& call = seen->calls[i];
      BOOST_TEST(call.emulated == (call.events == 1));
      timer = timer || call.events == 1;
    }
    BOOST_TEST(timer);
    BOOST_TEST(overflow.counts()[0].overflows > 1000U);
    BOOST_TEST(overflow.counts()[1].overflows == overflow.counts()[1].occurrences / 10);
  }
}

BOOST_AUTO_TEST_CASE(stop_reports_what_the_timer_has_not_seen) {
  if (const auto why = message([] { Group group(std::vector<std::string>{"msr/tsc/"}); }); !why.empty())
    return skip(why);
  for (auto options : {OverflowOptions{}, by_thread()}) {
    options.interval = 1h;
    const auto seen = std::make_unique<Seen>();
    Overflow overflow({{encode("msr/tsc/"), 1000}}, seen->callback(), options);
    for (int run = 1; run <= 2; ++run) {
      overflow.start();
      spin(1ms);
      overflow.stop();
      const OverflowCount count = overflow.counts()[0];
      BOOST_TEST(count.occurrences > 1000U);
      BOOST_TEST(count.overflows == count.occurrences / 1000);
      BOOST_TEST(seen->count == static_cast<std::size_t>(run));
    }
    BOOST_TEST(seen->calls[0].emulated);
    BOOST_TEST(seen->calls[0].address == 0U);
  }
}

BOOST_AUTO_TEST_CASE(another_process_with_its_children_by_thread) {
  Target target([] {
    FreshPages(500).touch(0, 500);
    if (fork() == 0) {
      FreshPages(500).touch(0, 500);
      _exit(0);
    }
    wait(nullptr);
  });
  OverflowOptions options = by_thread();
  options.pid = target.pid();
  options.inherit = true;
  std::atomic<std::uint64_t> calls = 0;
  std::set<std::uint32_t> processes;
  Overflow overflow(
      {faults(1)},
      [&](const OverflowCall& call) {
        ++calls;
        processes.insert(call.pid); // anything may be done here
      },
      options);
  overflow.start();
  target.go();
  target.join();
  overflow.stop();
  BOOST_TEST(calls == overflow.counts()[0].occurrences);
  BOOST_TEST(calls >= 1000U);
  BOOST_TEST(processes.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_blocked_signal_delays_calls_and_loses_none) {
  FreshPages memory(1001);
  const auto seen = std::make_unique<Seen>();
  Overflow overflow({faults(10)}, seen->callback());
  std::size_t then = 0;
  overflow.start();
  {
    const process::SignalsBlocked blocked;
    memory.touch(0, 1001);
    then = seen->count;
  }
  overflow.stop();
  BOOST_TEST(then <= 1U);
  BOOST_TEST(seen->count == overflow.counts()[0].occurrences / 10);
  std::set<std::uint64_t> places;
  for (std::size_t i = 0; i < seen->count; ++i)
    places.insert(seen->calls[i].data_address);
  BOOST_TEST(places.size() == seen->count); // each with an address of its own
}

BOOST_AUTO_TEST_CASE(stop_makes_the_calls_of_a_blocked_signal) {
  FreshPages memory(501);
  const auto seen = std::make_unique<Seen>();
  Overflow overflow({faults(10)}, seen->callback());
  std::size_t calls = 0;
  overflow.start();
  {
    const process::SignalsBlocked blocked;
    memory.touch(0, 501);
    overflow.stop();
    calls = seen->count;
  }
  BOOST_TEST(seen->count == calls); // none after stop()
  BOOST_TEST(calls >= 50U);
  BOOST_TEST(calls == overflow.counts()[0].overflows);
  BOOST_TEST(calls == overflow.counts()[0].occurrences / 10);
  for (std::size_t i = 0; i < calls; ++i)
    BOOST_TEST(seen->calls[i].context);
}

BOOST_AUTO_TEST_CASE(a_callback_that_stops_it_is_not_called_again) {
  for (const auto& options : {OverflowOptions{}, by_thread()}) {
    FreshPages memory(501);
    std::atomic<int> calls = 0;
    Overflow* self = nullptr;
    Overflow overflow(
        {faults(10)}, [&](const OverflowCall&) { ++calls == 3 ? self->stop() : void(); }, options);
    self = &overflow;
    overflow.start();
    {
      const process::SignalsBlocked blocked; // many calls are due at once
      memory.touch(0, 501);
    }
    overflow.stop();
    BOOST_TEST(calls == 3);
    overflow.start(); // and counts on
    memory.touch(0, 1);
    FreshPages(101).touch(0, 101);
    overflow.stop();
    BOOST_TEST(calls >= 10);
  }
}

BOOST_AUTO_TEST_CASE(the_thread_takes_no_signal_of_the_program) {
  sigset_t blocked;
  std::atomic<int> calls = 0;
  Overflow overflow(
      {faults(10)},
      [&](const OverflowCall&) {
        pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        ++calls;
      },
      by_thread());
  overflow.start();
  FreshPages(101).touch(0, 101);
  overflow.stop();
  BOOST_TEST_REQUIRE(calls > 0);
  for (const int number : {SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGUSR1, SIGPROF, SIGRTMIN, SIGRTMAX})
    BOOST_TEST(sigismember(&blocked, number) == 1);
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  BOOST_TEST(sigismember(&blocked, SIGINT) == 0); // of the calling thread
}

BOOST_AUTO_TEST_CASE(threads_have_their_own) {
  std::atomic<int> wrong = 0, right = 0;
  const auto body = [&] {
    FreshPages memory(501);
    const pid_t tid = gettid();
    Overflow overflow({faults(10)}, [&, tid](const OverflowCall& call) {
      ++(gettid() == tid && call.tid == static_cast<std::uint32_t>(tid) ? right : wrong);
    });
    overflow.start();
    memory.touch(0, 501);
    overflow.stop();
  };
  std::thread a(body), b(body);
  a.join();
  b.join();
  BOOST_TEST(wrong == 0);
  BOOST_TEST(right >= 100);
}

BOOST_AUTO_TEST_CASE(wrong_use_is_told) {
  const auto nothing = [](const OverflowCall&) {};
  BOOST_TEST(holds(message([&] { Overflow({}, nothing); }), "needs at least one event"));
  BOOST_TEST(holds(message([&] { Overflow({faults(0)}, nothing); }), "threshold of 0"));
  BOOST_TEST(holds(message([&] { Overflow({faults(1)}, {}); }), "callback"));
  BOOST_CHECK_THROW(Overflow({faults(1)}, nothing).set_threshold(1, 1), Error);
  OverflowOptions options;
  options.pid = 1;
  BOOST_TEST(holds(message([&] { Overflow({faults(1)}, nothing, options); }), "Delivery::thread"));
  options = {};
  options.signal = SIGUSR2;
  std::signal(SIGUSR2, [](int) {});
  BOOST_TEST(holds(message([&] { Overflow({faults(1)}, nothing, options); }), "has a handler"));
  std::signal(SIGUSR2, SIG_DFL);
  options.signal = SIGKILL;
  BOOST_TEST(holds(message([&] { Overflow({faults(1)}, nothing, options); }), "signal 9"));
}

BOOST_AUTO_TEST_SUITE_END()
