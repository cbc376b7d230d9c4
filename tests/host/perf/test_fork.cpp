// In a forked child the parent's events are left alone.
#include "helpers.hpp"
#include "needs.hpp"

#include <recount/group.hpp>
#include <recount/overflow.hpp>
#include <recount/sampling.hpp>
#include <recount/user_read.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(forked, *test::needs(test::no_software_events))

namespace {

constexpr auto reported = "opened before fork(2)";

} // namespace

BOOST_AUTO_TEST_CASE(a_group_counts_on_when_a_child_stops_its_copy) {
  FreshPages memory(31);
  Group group({"perf::PAGE-FAULTS:u"});
  group.start();
  memory.touch(0, 1);
  group.reset();
  memory.touch(1, 11);
  const std::string read = in_child([&] {
    group.stop();
    group.reset();
    const Count& count = group.read()[0];
    return count.value ? std::to_string(*count.value) : count.reason->cause;
  });
  BOOST_TEST(holds(read, reported), read);
  BOOST_TEST(holds(in_child([&] {
                     group.start();
                     return std::string("started");
                   }),
                   reported));
  memory.touch(11, 31);
  group.stop();
  // Faults of copied pages after fork(2) are the parent's own.
  BOOST_TEST(group.read()[0].value.value() >= 30U);
}

BOOST_AUTO_TEST_CASE(what_a_child_destroys_goes_on_in_the_parent) {
  for (const Delivery delivery : {Delivery::signal, Delivery::thread}) {
    FreshPages memory(301);
    std::atomic<int> calls = 0;
    OverflowOptions options;
    options.delivery = delivery;
    auto overflow = std::make_unique<Overflow>(
        std::vector<OverflowEvent>{{encode("perf::PAGE-FAULTS:u"), 10}},
        [&](const OverflowCall&) { ++calls; }, options);
    overflow->start();
    memory.touch(0, 101);
    const std::string done = in_child([&] {
      const std::string why = message([&] { (void)overflow->counts(); });
      overflow->stop();
      overflow.reset();
      return why;
    });
    BOOST_TEST(holds(done, reported), done); // empty: the child died or hung
    const int before = calls;
    memory.touch(101, 301);
    overflow->stop();
    if (delivery == Delivery::signal) BOOST_TEST(calls - before >= 20);
    BOOST_TEST(overflow->counts()[0].overflows >= 30U);
  }
}

BOOST_AUTO_TEST_CASE(samples_are_of_the_parent) {
  FreshPages memory(201);
  auto sampling = std::make_unique<Sampling>(std::vector<SampledEvent>{{encode("perf::PAGE-FAULTS:u"), 10}},
                                             SamplingOptions{});
  sampling->start();
  memory.touch(0, 101);
  const std::string done = in_child([&] {
    const std::string why = message([&] { sampling->finish({}); });
    sampling->stop();
    const bool more = sampling->wait(std::chrono::milliseconds(0));
    sampling.reset();
    return more ? "waits" : why;
  });
  BOOST_TEST(holds(done, reported), done);
  memory.touch(101, 201);
  sampling->stop();
  sampling->finish({});
  BOOST_TEST(sampling->report().events[0].samples >= 20U);
  BOOST_CHECK_THROW(sampling->set_period(1, 10), Error);
}

BOOST_AUTO_TEST_CASE(a_child_reads_no_page_of_its_parent) {
  FreshPages memory(21);
  auto counter = std::make_unique<UserRead>(encode("perf::PAGE-FAULTS:u"));
  counter->start();
  memory.touch(0, 1);
  counter->reset();
  const std::string done = in_child([&] {
    const Count count = counter->read();
    if (count.value || counter->value()) return std::string("a value");
    counter->stop();
    counter.reset();
    return count.reason->cause;
  });
  BOOST_TEST(holds(done, reported), done);
  memory.touch(1, 21);
  BOOST_TEST(counter->read().value.value() >= 20U);
  BOOST_CHECK_THROW((void)counter->read(1), Error);
}

BOOST_AUTO_TEST_CASE(a_child_counts_itself_with_events_of_its_own) {
  Group parents({"perf::PAGE-FAULTS:u"});
  const std::string counted = in_child([] {
    FreshPages memory(11);
    Group own({"perf::PAGE-FAULTS:u"});
    own.start();
    memory.touch(0, 11);
    own.stop();
    return std::string(own.read()[0].value.value_or(0) >= 11 ? "counted" : "nothing");
  });
  BOOST_TEST(counted == "counted");
}

BOOST_AUTO_TEST_SUITE_END()
