// Tables, sizes, wrapping.
#include "command/output.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>

using namespace recount;
using namespace recount::cli;

BOOST_AUTO_TEST_CASE(columns_are_as_wide_as_they_need_and_lines_end_clean) {
  Table t({{"name"}, {"n", Table::Align::right}, {"what"}});
  t.add({"a", "1000", "x"});
  t.add({"µµµµµ", "7"}); // five columns wide, ten bytes long
  BOOST_TEST(t.text() == "name      n  what\n"
                         "a      1000  x\n"
                         "µµµµµ     7\n");
}

BOOST_AUTO_TEST_CASE(a_table_without_heads_has_no_head_line) {
  Table t({{""}, {""}});
  t.add({"a", "b"});
  BOOST_TEST(t.text() == "a  b\n");
}

BOOST_AUTO_TEST_CASE(width_is_of_what_is_seen) {
  BOOST_TEST(width("µs") == 2U);
  BOOST_TEST(width("\033[1mbold\033[0m") == 4U);
}

BOOST_AUTO_TEST_CASE(sizes_take_the_largest_unit_that_fits) {
  BOOST_TEST(show_size(512) == "512 B");
  BOOST_TEST(show_size(32768) == "32 KiB");
  BOOST_TEST(show_size(1536 * 1024) == "1.5 MiB");
  BOOST_TEST(show_size(std::int64_t{3} << 40) == "3 TiB");
}

BOOST_AUTO_TEST_CASE(lines_are_wrapped_and_indented) {
  BOOST_TEST(wrap("one two three", 9, 2) == "one two\n  three");
  BOOST_TEST(wrap("unbreakableword", 5, 0) == "unbreakableword");
}

BOOST_AUTO_TEST_CASE(an_error_has_a_line_for_each_part_it_has) {
  const Error full(ErrorKind::unavailable, {"ev", "refused (EACCES)", "k = 3", "do this"});
  BOOST_TEST(error_text(full) == "recount: ev: refused (EACCES)\n  setting: k = 3\n  remedy:  do this\n");
  BOOST_TEST(error_text(bad_input("x", "bad")) == "recount: x: bad\n");
}
