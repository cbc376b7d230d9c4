#include "count/perf/overflow_engine.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;
using perf::OverflowCalls;
using perf::Ticks;

BOOST_AUTO_TEST_SUITE(overflow_calls)

namespace {

struct Heard {
  std::vector<std::uint64_t> events, addresses;
  std::vector<std::vector<std::uint64_t>> times;
  OverflowCalls calls{[this](const OverflowCall& call) {
    events.push_back(call.events);
    addresses.push_back(call.address);
    times.emplace_back();
    for (const Overflowed& o : call.overflowed)
      times.back().push_back(o.times);
  }};
  void add(std::size_t event, std::uint64_t ip, std::uint32_t tid = 1) {
    Sample sample;
    sample.ip = ip;
    sample.tid = tid;
    calls.add(event, sample);
  }
};
using Numbers = std::vector<std::uint64_t>;

} // namespace

BOOST_AUTO_TEST_CASE(ticks_tell_every_threshold_once) {
  Ticks ticks(10);
  BOOST_TEST(ticks.at(9).times == 0U);
  BOOST_TEST(ticks.at(10).times == 1U);
  BOOST_TEST(ticks.at(10).times == 0U);
  const Overflowed many = ticks.at(57);
  BOOST_TEST(many.times == 4U);
  BOOST_TEST(many.excess == 7U);
  BOOST_TEST(ticks.at(60).times == 1U);
  ticks.change(100, 65);
  BOOST_TEST(ticks.at(164).times == 0U);
  BOOST_TEST(ticks.at(165).times == 1U);
  BOOST_TEST(ticks.at(3).times == 0U); // went back
  BOOST_TEST(ticks.at(~std::uint64_t{0}).times == ~std::uint64_t{0} / 100);
}

BOOST_AUTO_TEST_CASE(events_at_one_place_are_one_call) {
  Heard heard;
  heard.add(0, 100);
  heard.add(2, 100);
  heard.calls.flush();
  heard.calls.flush(); // nothing is left
  BOOST_TEST((heard.events == Numbers{5}));
}

BOOST_AUTO_TEST_CASE(the_same_event_again_is_another_call) {
  Heard heard;
  heard.add(0, 100);
  heard.add(0, 100);
  heard.add(1, 100);
  heard.add(1, 200);
  heard.add(0, 200, 2); // of another thread
  heard.calls.flush();
  BOOST_TEST((heard.events == Numbers{1, 3, 2, 1}));
  BOOST_TEST((heard.addresses == Numbers{100, 100, 200, 200}));
  BOOST_TEST(heard.calls.reported()[0] == 3U);
  BOOST_TEST(heard.calls.reported()[1] == 2U);
}

BOOST_AUTO_TEST_CASE(emulated_events_of_one_look_are_one_call) {
  Heard heard;
  heard.add(0, 100);
  Sample timer;
  timer.ip = 100;
  heard.calls.add(Overflowed{1, 7, 3}, timer);
  heard.calls.add(Overflowed{2, 2, 0}, timer);
  heard.calls.flush();
  heard.add(0, 100);
  heard.calls.flush();
  BOOST_TEST((heard.events == Numbers{1, 6, 1}));
  BOOST_TEST((heard.times[1] == Numbers{7, 2}));
  BOOST_TEST(heard.calls.reported()[1] == 7U);
}

BOOST_AUTO_TEST_SUITE_END()
