#include "base/format.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <limits>

using recount::base::format_count;

BOOST_AUTO_TEST_CASE(a_noun_is_singular_after_1_only) {
  BOOST_TEST(format_count(0, "run") == "0 runs");
  BOOST_TEST(format_count(1U, "run") == "1 run");
  BOOST_TEST(format_count(2, "run") == "2 runs");
  BOOST_TEST(format_count(-1, "run") == "-1 runs");
  BOOST_TEST(format_count(std::numeric_limits<std::uint64_t>::max(), "run") == "18446744073709551615 runs");
}

BOOST_AUTO_TEST_CASE(other_forms_are_given_in_full) {
  BOOST_TEST(format_count(1, "entry does", "entries do") == "1 entry does");
  BOOST_TEST(format_count(2, "entry does", "entries do") == "2 entries do");
}

BOOST_AUTO_TEST_CASE(numbers_have_four_digits) {
  using recount::base::format_number;
  BOOST_TEST(format_number(0) == "0");
  BOOST_TEST(format_number(-0.0) == "0");
  BOOST_TEST(format_number(0.12341) == "0.1234");
  BOOST_TEST(format_number(30880) == "30880");
  BOOST_TEST(format_number(1e-5) == "0.00001000");
  BOOST_TEST(format_number(-2.5e-12) == "-2.5e-12"); // not zero
  BOOST_TEST(format_number(std::numeric_limits<double>::infinity()) == "inf");
}

BOOST_AUTO_TEST_CASE(bytes_never_show_1024_of_a_unit) {
  using recount::base::format_bytes;
  BOOST_TEST(format_bytes(1023) == "1023 B");
  BOOST_TEST(format_bytes(1024) == "1 KiB");
  BOOST_TEST(format_bytes(1536) == "1.5 KiB");
  BOOST_TEST(format_bytes(1048575) == "1 MiB");
  BOOST_TEST(format_bytes(std::int64_t{1} << 62) == "4 EiB");
}

BOOST_AUTO_TEST_CASE(durations_have_two_units) {
  using recount::base::format_duration;
  using namespace std::chrono_literals;
  BOOST_TEST(format_duration(59.9s) == "59 s");
  BOOST_TEST(format_duration(200s) == "3 min 20 s");
  BOOST_TEST(format_duration(2h + 5min + 59s) == "2 h 5 min");
  BOOST_TEST(format_duration(std::chrono::duration<double>(1e30)) == "2500000 h 0 min");
}
