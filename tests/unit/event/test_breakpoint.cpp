#include "count/event/encode.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>
#include <linux/hw_breakpoint.h>

using namespace recount;
using event::encode_breakpoint;

BOOST_AUTO_TEST_SUITE(breakpoint)

BOOST_AUTO_TEST_CASE(all_parts) {
  const Event event = encode_breakpoint("mem:0x7f00001000/8:rw:u", Domain::all);
  BOOST_TEST(event.attr.type == unsigned{PERF_TYPE_BREAKPOINT});
  BOOST_TEST(event.attr.bp_addr == 0x7f00001000ULL);
  BOOST_TEST(event.attr.bp_len == 8U);
  BOOST_TEST(event.attr.bp_type == unsigned{HW_BREAKPOINT_RW});
  BOOST_TEST((domain(event) == Domain::user));
  BOOST_TEST(event.domain_given);
  BOOST_TEST(event.pmu == "breakpoint");
}

BOOST_AUTO_TEST_CASE(defaults) {
  const Event plain = encode_breakpoint("mem:4096", Domain::user);
  BOOST_TEST(plain.attr.bp_addr == 4096U);
  BOOST_TEST(plain.attr.bp_len == 4U);
  BOOST_TEST(plain.attr.bp_type == unsigned{HW_BREAKPOINT_RW});
  BOOST_TEST(!plain.domain_given);
  BOOST_TEST((domain(plain) == Domain::user));
  const Event execute = encode_breakpoint("mem:0x1000:x", Domain::all);
  BOOST_TEST(execute.attr.bp_type == unsigned{HW_BREAKPOINT_X});
  BOOST_TEST(execute.attr.bp_len == sizeof(long));
  BOOST_TEST(encode_breakpoint("mem:0x1000/1:w:k", Domain::all).attr.bp_type == unsigned{HW_BREAKPOINT_W});
  BOOST_TEST(encode_breakpoint("mem:0x1000:r", Domain::all).attr.bp_type == unsigned{HW_BREAKPOINT_R});
}

BOOST_AUTO_TEST_CASE(bad_ones) {
  for (const char* name :
       {"mem:", "mem:zero", "mem:0x1000/3", "mem:0x1000/", "mem:0x1000:q", "mem:0x1000:rwx", "mem:0x1000:ww",
        "mem:0x1000/8:", "mem:0x1000 :w", "mem:-1", "mem:0x11112222333344445"}) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_CHECK_THROW((void)encode_breakpoint(name, Domain::all), Error);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
