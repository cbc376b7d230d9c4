// The simple calls, as a person who only wants a number would use them.
#include "count/simple/meter.hpp"
#include "needs.hpp"
#include "skip.hpp"

#include <recount/error.hpp>
#include <recount/simple.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

using namespace recount;

BOOST_AUTO_TEST_SUITE(simple_calls, *test::needs(test::no_software_events))

namespace {
const std::string faults = "perf::PAGE-FAULTS";

void fault(std::size_t pages) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* at = ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  BOOST_TEST_REQUIRE(at != MAP_FAILED);
  ::madvise(at, pages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i)
    static_cast<volatile char*>(at)[i * page] = 1;
  ::munmap(at, pages * page);
}

void sleep_ms(long ms) {
  const timespec time{0, ms * 1'000'000};
  ::nanosleep(&time, nullptr);
}

bool core_counts() {
  return simple::counters().value.has_value();
}
} // namespace

BOOST_AUTO_TEST_CASE(a_meter_gives_counts_and_rates) {
  simple::Meter meter({faults, "perf::CONTEXT-SWITCHES"});
  fault(500);
  sleep_ms(20);
  const auto reading = meter.read();
  BOOST_TEST(reading[faults].count.value_or(0) >= 500U);
  BOOST_TEST(reading[faults].count.value_or(0) < 700U);
  BOOST_TEST(reading[faults].share == 1.0);
  BOOST_TEST(reading["perf::CONTEXT-SWITCHES"].count.value_or(0) >= 1U);
  BOOST_TEST(reading.real_seconds >= 0.02);
  BOOST_TEST(reading.processor_seconds < reading.real_seconds); // it slept
  const double count = static_cast<double>(reading[faults].count.value_or(0));
  BOOST_TEST(reading.rate(faults).value_or(0) == count / reading.real_seconds,
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(reading.processor_rate(faults).value_or(0) > reading.rate(faults).value_or(0));
}

BOOST_AUTO_TEST_CASE(reading_goes_on_and_read_and_reset_begins_anew) {
  simple::Meter meter({faults});
  (void)meter.read_and_reset(); // what the first call itself touches
  fault(100);
  BOOST_TEST(meter.read()[faults].count.value_or(0) >= 100U);
  fault(100);
  BOOST_TEST(meter.read_and_reset()[faults].count.value_or(0) >= 200U);
  fault(50);
  const auto last = meter.read_and_reset()[faults].count.value_or(0);
  BOOST_TEST(last >= 50U);
  BOOST_TEST(last < 100U);
}

BOOST_AUTO_TEST_CASE(accumulate_adds_intervals) {
  simple::Meter meter({faults});
  simple::Reading total;
  for (int i = 0; i < 3; ++i) {
    fault(100);
    meter.accumulate(total);
    sleep_ms(2);
  }
  meter.accumulate(total);
  BOOST_TEST(total[faults].count.value_or(0) >= 300U);
  BOOST_TEST(total[faults].count.value_or(0) < 500U);
  BOOST_TEST(total.real_seconds >= 0.006);
  simple::Meter other({"perf::MINOR-FAULTS"});
  BOOST_CHECK_THROW(other.accumulate(total), Error);
}

BOOST_AUTO_TEST_CASE(what_is_not_counted_stays_so_in_a_sum) {
  simple::Reading a{1, 1, {{"E", 10, 1, ""}, {"F", 5, 1, ""}}},
      b{3, 1, {{"E", 30, 0.5, ""}, {"F", {}, 0, "no PMU"}}};
  a += b;
  BOOST_TEST(a["E"].count.value_or(0) == 40U);
  BOOST_TEST(a["E"].share == 0.625); // 1 s whole and 3 s half
  BOOST_TEST(!a["F"].count.has_value());
  BOOST_TEST(a["F"].reason.cause == "no PMU");
  BOOST_TEST(!a.rate("F").has_value());
  BOOST_TEST(a.rate("E").value_or(0) == 10.0);
  simple::Reading times{1, 1, {}};
  times += {3, 2, {}};
  BOOST_TEST(times.real_seconds == 4);
  BOOST_TEST(times.processor_seconds == 3);
  BOOST_CHECK_THROW(times += a, Error); // the sum would lack the counts of the first interval
}

BOOST_AUTO_TEST_CASE(unknown_names_throw) {
  BOOST_CHECK_THROW(simple::Meter({"perf::PAGE-FALTS"}), Error);
  simple::Meter meter({faults});
  BOOST_CHECK_THROW((void)meter.read()["perf::CPU-CLOCK"], Error);
}

BOOST_AUTO_TEST_CASE(ipc_counts_or_says_why_not) {
  simple::IpcMeter meter;
  volatile int sink = 0;
  for (int i = 0; i < 1'000'000; ++i)
    sink = sink + 1;
  sleep_ms(5);
  const auto got = meter.read();
  BOOST_TEST(got.real_seconds >= 0.005);
  BOOST_TEST(got.processor_seconds > 0);
  BOOST_TEST(got.ipc.has_value() == got.reason.empty(), got.reason.cause);
  if (got.ipc) {
    BOOST_TEST(got.instructions.value_or(0) >= 1'000'000U);
    BOOST_TEST(*got.ipc > 0);
  } else {
    test::skip("no IPC here: " + got.reason.text());
    BOOST_TEST(!(got.instructions && got.cycles));
    BOOST_TEST(!core_counts());
  }
  BOOST_TEST(meter.read_and_reset().real_seconds >= got.real_seconds);
  BOOST_TEST(meter.read().real_seconds < got.real_seconds);
}

BOOST_AUTO_TEST_CASE(flops_are_counted_or_said_not_to_be) {
  simple::FlopsMeter meter;
  volatile double sink = 1;
  for (int i = 0; i < 100'000; ++i)
    sink = sink * 1.0000001;
  const auto got = meter.read();
  BOOST_TEST(got.real_seconds > 0);
  BOOST_TEST(got.operations.has_value() == got.reason.empty(), got.reason.cause);
  BOOST_TEST(got.operations.has_value() == got.per_second.has_value());
  if (got.operations)
    BOOST_TEST(*got.operations >= 100'000U);
  else
    test::skip("no FLOP rate here: " + got.reason.text());
}

BOOST_AUTO_TEST_CASE(counters_are_counted_by_trial) {
  const auto got = simple::counters();
  BOOST_TEST(got.value.has_value() == got.reason.empty());
  if (got.value)
    BOOST_TEST(*got.value >= 1);
  else
    test::skip("no hardware counters here: " + got.reason.text());
}

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE(every_flop_event_is_known_to_libpfm4) {
  for (const auto& recipe : simple::flop_recipes()) {
    for (const auto& term : recipe.terms)
      BOOST_CHECK_NO_THROW((void)encode(std::string(recipe.example) + "::" + term.event, Domain::user));
  }
}
#endif

BOOST_AUTO_TEST_SUITE_END()
