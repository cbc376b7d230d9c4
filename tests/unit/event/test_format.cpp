#include "count/event/sysfs.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

using recount::event::parse_format;
using recount::event::store;

BOOST_AUTO_TEST_SUITE(format)

BOOST_AUTO_TEST_CASE(a_value_is_split_over_its_ranges) {
  perf_event_attr attr{};
  const auto event = parse_format("config:0-7,32-35", "cpu/event=0x3c/"); // AMD's event code
  BOOST_TEST(event.width() == 12U);
  store(event, 0xabc, attr, "event");
  BOOST_TEST(attr.config == 0xa000000bcULL);
  store(event, 0x1, attr, "event"); // replaces, does not add
  BOOST_TEST(attr.config == 0x1ULL);
}

BOOST_AUTO_TEST_CASE(other_bits_are_left_alone) {
  perf_event_attr attr{};
  attr.config = ~0ULL;
  store(parse_format("config:8-15", "umask"), 0x42, attr, "umask");
  BOOST_TEST(attr.config == 0xffffffffffff42ffULL);
}

BOOST_AUTO_TEST_CASE(words_and_whole_words) {
  perf_event_attr attr{};
  store(parse_format("config1:0-63", "offcore_rsp"), ~0ULL, attr, "offcore_rsp");
  store(parse_format("config2:63", "top"), 1, attr, "top");
  BOOST_TEST(attr.config == 0U);
  BOOST_TEST(attr.config1 == ~0ULL);
  BOOST_TEST(attr.config2 == 1ULL << 63);
}

BOOST_AUTO_TEST_CASE(too_wide_a_value_is_refused) {
  perf_event_attr attr{};
  BOOST_CHECK_THROW(store(parse_format("config:0-7", "umask"), 0x100, attr, "umask"), recount::Error);
  store(parse_format("config:0-7", "umask"), 0xff, attr, "umask");
  BOOST_TEST(attr.config == 0xffU);
}

BOOST_AUTO_TEST_CASE(malformed_files) {
  for (const char* text :
       {"", "config", "config:", "config:9-2", "config:0-64", "config:a", "umask:0-7", "config9:0"})
    BOOST_CHECK_THROW((void)parse_format(text, "x"), recount::Error);
}

BOOST_AUTO_TEST_SUITE_END()
