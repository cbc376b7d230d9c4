// Events as requested by the user.
#include "commands/profile/recording.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>
#include <linux/hw_breakpoint.h>

using namespace recount;
using namespace recount::profile;

BOOST_AUTO_TEST_SUITE(requested)

BOOST_AUTO_TEST_CASE(events_have_period_frequency_or_default) {
  const auto all = parse_event_requests({"page-faults:period=10,cpu-clock:freq=500", "mem:0x1000/8:w"});
  BOOST_REQUIRE(all.size() == 3U);
  BOOST_TEST(all[0].name == "page-faults");
  BOOST_TEST(all[0].period == 10U);
  BOOST_TEST(all[1].frequency == 500U);
  BOOST_TEST(all[2].name == "mem:0x1000/8:w");
  BOOST_TEST(sampled_events(all[2], Domain::user).at(0).period == 1U);
  BOOST_TEST(sampled_events({"page-faults"}, Domain::user).at(0).period == 1U);
  BOOST_TEST(sampled_events({"cpu-clock"}, Domain::user).at(0).frequency == 1000U);
  BOOST_TEST(sampled_events({"cpu-clock"}, Domain::user).at(0).period == 0U);
}

BOOST_AUTO_TEST_CASE(commas_within_slashes_are_part_of_an_event) {
  const auto all =
      parse_event_requests({"cpu/event=0x3c,umask=0x0/:period=7,page-faults", "mem:0x1000/8:w,mem:x/4:w"});
  BOOST_REQUIRE(all.size() == 4U);
  BOOST_TEST(all[0].name == "cpu/event=0x3c,umask=0x0/");
  BOOST_TEST(all[0].period == 7U);
  BOOST_TEST(all[2].name == "mem:0x1000/8:w");
  BOOST_TEST(all[3].name == "mem:x/4:w");
}

BOOST_AUTO_TEST_CASE(invalid_requests_are_rejected) {
  for (const char* word :
       {"", "page-faults,", "page-faults:period=0", "page-faults:period=", "page-faults:period=x",
        "page-faults:period=-1", "a:period=5:freq=6", ":period=5", "a:freq=99999999999999999999"})
    BOOST_CHECK_THROW(static_cast<void>(parse_event_requests({word})), Error);
}

BOOST_AUTO_TEST_CASE(watched_variables_are_parsed) {
  const auto plain = parse_watched_variable("mem:counter/8:w");
  BOOST_REQUIRE(plain.has_value());
  BOOST_TEST(plain->name == "counter");
  BOOST_TEST(plain->rest == "/8:w");
  BOOST_TEST(parse_watched_variable("mem:work::counter")->name == "work::counter");
  BOOST_TEST(parse_watched_variable("mem:work::counter")->rest == "");
  BOOST_TEST(parse_watched_variable("mem:work::counter:w")->rest == ":w");
  BOOST_TEST(parse_watched_variable("mem:a::b::c+16/4:rw:u")->name == "a::b::c");
  BOOST_TEST(parse_watched_variable("mem:a::b::c+16/4:rw:u")->offset == 16U);
  BOOST_TEST(!parse_watched_variable("mem:0x1000/8:w").has_value());
  BOOST_TEST(!parse_watched_variable("page-faults").has_value());
  BOOST_TEST(!parse_watched_variable("mem:").has_value());
  BOOST_CHECK_THROW(static_cast<void>(parse_watched_variable("mem:x+y/8")), Error);
}

BOOST_AUTO_TEST_CASE(data_breakpoints_are_traps) {
  BOOST_TEST(reports_next_instruction(encode("mem:0x1000/8:w")));
  BOOST_TEST(reports_next_instruction(encode("mem:0x1000/8:rw")));
  BOOST_TEST(!reports_next_instruction(encode("mem:0x1000:x")));
  BOOST_TEST(!reports_next_instruction(encode("page-faults")));
  BOOST_TEST(is_clock(encode("cpu-clock")));
  BOOST_TEST(!is_clock(encode("page-faults")));
}

BOOST_AUTO_TEST_SUITE_END()
