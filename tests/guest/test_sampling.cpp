// Overflows of the cycle counter: exactly as many as the count holds periods.
#include "loop.hpp"

#include <recount/overflow.hpp>
#include <recount/sampling.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>

using namespace recount;
using namespace recount::test;

namespace {

constexpr std::uint64_t rounds = 5'000'000, cycles_at_least = 2 * rounds;

/// Primes, so that no period is in step with the loop; fewer than the 100 000 a second that Linux allows. The
/// loop ends far from a multiple of each: the last overflow then is in it, not in what stops the counting.
constexpr std::uint64_t periods[] = {20'011, 110'017, 1'100'009};

/// The loop whose place in the program is known.
[[gnu::noipa]] void place() {
  spin(rounds);
}

} // namespace

BOOST_AUTO_TEST_SUITE(sampling)

BOOST_AUTO_TEST_CASE(the_count_holds_exactly_as_many_periods_as_there_are_samples) {
  for (const std::uint64_t period : periods) {
    Sampling cycles({{encode("perf::CYCLES", Domain::user), period}});
    std::uint64_t samples = 0, weight = 0, outside = 0;
    const auto begin = reinterpret_cast<std::uintptr_t>(&place);
    cycles.start();
    place();
    cycles.stop();
    cycles.finish([&](const Record& record) {
      if (const auto* sample = std::get_if<Sample>(&record)) {
        ++samples;
        weight += sample->period;
        BOOST_TEST((sample->mode == Mode::user));
        if (sample->ip < begin || sample->ip > begin + 16) ++outside;
      }
    });
    const SamplingReport report = cycles.report();
    BOOST_TEST_MESSAGE("period " << period << ": " << samples << " samples of "
                                 << report.events[0].occurrences);
    BOOST_TEST(report.complete());
    BOOST_TEST(report.events[0].throttled == 0U);
    BOOST_TEST(report.events[0].occurrences >= cycles_at_least * cycles_per_instruction());
    BOOST_TEST(samples == report.events[0].occurrences / period);
    BOOST_TEST(report.events[0].samples == samples);
    BOOST_TEST(weight == samples * period);
    BOOST_TEST(outside == 0U);
  }
}

BOOST_AUTO_TEST_CASE(a_handler_is_called_once_a_period) {
  for (const std::uint64_t period : periods) {
    std::atomic<std::uint64_t> calls = 0;
    Overflow overflow({{encode("perf::CYCLES", Domain::user), period}},
                      [&](const OverflowCall& call) { calls += call.overflowed[0].times; });
    overflow.start();
    place();
    overflow.stop();
    const OverflowCount count = overflow.counts()[0];
    BOOST_TEST(!overflow.emulated(0));
    BOOST_TEST(count.occurrences >= cycles_at_least * cycles_per_instruction());
    BOOST_TEST(calls == count.occurrences / period);
    BOOST_TEST(overflow.missed() == 0U);
  }
}

BOOST_AUTO_TEST_SUITE_END()
