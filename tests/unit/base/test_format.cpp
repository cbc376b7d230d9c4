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
