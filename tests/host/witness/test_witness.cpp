// The four witnesses on this machine, with real kernels and counters.
#include "../../skip.hpp"
#include "../sweep/kernels.hpp"
#include "faults.hpp"
#include "run/witness/backend.hpp"
#include "run/witness/counting.hpp"
#include "run/witness/stopwatch.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;
using namespace recount::witness;
using test::Faults, test::Nothing;

BOOST_AUTO_TEST_SUITE(witnesses)

namespace {

std::vector<result::Observation> observe(const std::string& witness, kernel::Instance* instance,
                                         std::vector<std::string> metrics) {
  const Task task{"R", "steps", kernel::complete(test::steps_kernel(), {}), 4, witness, std::move(metrics)};
  if (instance) instance->region()();
  const auto all = find(witness).observe(test::steps_kernel(), instance, task);
  BOOST_REQUIRE(all.size() == task.metrics.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    BOOST_TEST(all[i].metric == task.metrics[i]);
    BOOST_TEST(all[i].witness == witness);
    BOOST_TEST(all[i].repetition == 4);
    BOOST_TEST((all[i].value.index() == 0) == !all[i].reason.empty()); // no value: a reason
  }
  return all;
}

std::int64_t whole(const result::Observation& o) {
  const auto* value = std::get_if<std::int64_t>(&o.value);
  BOOST_TEST(value, o.metric << ": " << o.reason.get().text());
  return value ? *value : -1;
}

} // namespace

BOOST_AUTO_TEST_CASE(they_are_found_by_name) {
  BOOST_TEST((find("clock").kind == Witness::clock));
  BOOST_TEST((find("model:i7-9700").kind == Witness::model));
  BOOST_TEST(!find("model").native);
  for (const char* bad : {"clocks", "clock:x", "", "perf:"})
    BOOST_CHECK_THROW(static_cast<void>(find(bad)), Error);
}

BOOST_AUTO_TEST_CASE(the_clock_sees_time_pass) {
  test::Steps steps({{"n", std::int64_t{100}}, {"fault", std::int64_t{0}}, {"how", std::string("segv")}});
  const auto all = observe("clock", &steps, {"seconds", "tsc_cycles"});
  BOOST_TEST(std::get<double>(all[0].value) > 0);
  BOOST_TEST(all[0].accesses.value() == 100);
  if (has_tsc()) {
    BOOST_TEST(whole(all[1]) > 0);
    BOOST_TEST(all[1].seconds.value() == std::get<double>(all[0].value));
  }
}

BOOST_AUTO_TEST_CASE(the_clock_takes_its_own_cost_off_and_never_says_zero) {
  BOOST_TEST(without(100, 30).value() == 70);
  BOOST_TEST(!without(30, 30).has_value());
  BOOST_TEST(!without(10, 30).has_value());
  const Lapse cost = own_cost();
  BOOST_TEST(cost.ns > 0);
  Nothing nothing;
  for (int i = 0; i < 200; ++i) {
    const auto all = observe("clock", &nothing, {"seconds", "tsc_cycles"});
    if (const auto value = result::as_double(all[0].value))
      BOOST_TEST(*value > 0);
    else
      BOOST_TEST(all[0].reason.get().cause.find("no longer than a read of the clock") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(the_clock_says_what_it_does_not_tell) {
  Nothing nothing;
  const auto all = observe("clock", &nothing, {"PAPI_L1_DCM"});
  BOOST_TEST(all[0].reason.get().cause == "the clock measures only seconds and tsc_cycles");
}

BOOST_AUTO_TEST_CASE(the_model_is_exact_and_repeats_itself) {
  // 1000 lines of 64 bytes fit in the L2 but not in the 512 lines of L1: with LRU every access misses L1
  // and, warm, none misses L2.
  const auto all = observe("model:i7-9700", nullptr, {"PAPI_L1_DCM", "PAPI_L2_DCM", "PAPI_FP_OPS"});
  BOOST_TEST(whole(all[0]) == 1000);
  BOOST_TEST(whole(all[1]) == 0);
  BOOST_TEST(all[0].accesses.value() == 1000);
  BOOST_TEST(all[2].reason.get().cause.find("the model of i7-9700 has no such metric") != std::string::npos);
  const auto again = observe("model:i7-9700", nullptr, {"PAPI_L1_DCM"});
  BOOST_TEST((again[0].value == all[0].value));
}

BOOST_AUTO_TEST_CASE(a_machine_that_is_not_there_is_an_error) {
  BOOST_CHECK_THROW(observe("model:i7-9701", nullptr, {"PAPI_L1_DCM"}), Error);
}

BOOST_AUTO_TEST_CASE(perf_and_papi_count_the_same_faults) {
  const std::vector<std::string> metrics{"perf::PAGE-FAULTS"};
  for (const char* name : {"perf", "papi"})
    if (const std::string why = find(name).missing(metrics).text(); !why.empty())
      return test::skip(std::string(name) + ": " + why);
  for (const std::size_t pages : {1U, 100U, 321U}) {
    Faults faults(pages);
    const std::int64_t raw = whole(observe("perf", &faults, metrics)[0]);
    const std::int64_t papi = whole(observe("papi", &faults, metrics)[0]);
    BOOST_TEST(raw == static_cast<std::int64_t>(pages));
    BOOST_TEST(papi == raw);
  }
}

BOOST_AUTO_TEST_CASE(perf_tells_the_time_counted) {
  if (const std::string why = find("perf").missing({"perf::PAGE-FAULTS"}).text(); !why.empty())
    return test::skip(why);
  Faults faults(50);
  const auto o = observe("perf", &faults, {"perf::PAGE-FAULTS"})[0];
  BOOST_TEST(o.enabled_ns.value() > 0);
  BOOST_TEST(o.running_ns.value() == o.enabled_ns.value());
  BOOST_TEST(o.seconds.value() > 0);
  for (const auto& flag : o.flags) // others may be true: the machine may be busy
    BOOST_TEST((flag.text.find("multiplexed") == flag.text.npos && flag.text.find("pass") == flag.text.npos),
               flag.text);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_counted_spoils_nothing_else) {
  for (const char* name : {"perf", "papi"}) {
    if (const std::string why = find(name).missing({"perf::PAGE-FAULTS"}).text(); !why.empty()) {
      test::skip(std::string(name) + ": " + why);
      continue;
    }
    Faults faults(20);
    const auto all =
        observe(name, &faults, {"NO_SUCH_EVENT", "perf::PAGE-FAULTS", "seconds", "perf::MINOR-FAULTS"});
    BOOST_TEST(!all[0].reason.empty());
    BOOST_TEST(whole(all[1]) == 20);
    BOOST_TEST(all[2].reason.get().cause.find("a time, not a count") == 0U);
    BOOST_TEST(whole(all[3]) == 20);
  }
}

BOOST_AUTO_TEST_CASE(switches_are_counted_where_they_happen) {
  BOOST_TEST(counted_as("perf::CONTEXT-SWITCHES") == "perf::CONTEXT-SWITCHES:k");
  BOOST_TEST(counted_as("perf::PAGE-FAULTS") == "perf::PAGE-FAULTS");
  BOOST_TEST(counted_as("perf::CONTEXT-SWITCHES:u") == "perf::CONTEXT-SWITCHES:u");
}

BOOST_AUTO_TEST_CASE(missing_says_why_or_nothing) {
  BOOST_TEST(find("clock").missing({"seconds"}).empty());
  BOOST_TEST(!find("clock").missing({"PAPI_L1_DCM"}).empty());
  BOOST_TEST(!find("perf").missing({"NO_SUCH_EVENT"}).empty());
  BOOST_TEST(!find("papi").missing({"NO_SUCH_EVENT"}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
