// Tables, sizes, wrapping, and the nearest names.
#include "command/output.hpp"

#include <recount/nearest.hpp>

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

BOOST_AUTO_TEST_CASE(swapped_and_missing_letters_are_one_edit) {
  BOOST_TEST(edit_distance("sweep", "sweep") == 0U);
  BOOST_TEST(edit_distance("swepe", "sweep") == 1U);
  BOOST_TEST(edit_distance("plt", "PLOT") == 1U);
  BOOST_TEST(edit_distance("", "abc") == 3U);
  BOOST_TEST(edit_distance("kitten", "sitting") == 3U);
}

BOOST_AUTO_TEST_CASE(the_nearest_names_come_first_and_far_ones_not_at_all) {
  const std::vector<std::string> names{"doctor", "events", "sweep", "plot"};
  BOOST_TEST(nearest("evnts", names) == std::vector<std::string>{"events"}, boost::test_tools::per_element());
  BOOST_TEST(nearest("zzzzzz", names).empty());
  BOOST_TEST(did_you_mean("polt", names) == "did you mean plot?");
  BOOST_TEST(did_you_mean("zzzzzz", names, "see the list") == "see the list");
  BOOST_TEST(did_you_mean("ab", std::vector<std::string>{"ab1", "ab2", "ab3", "ab4"}) ==
             "did you mean ab1, ab2 or ab3?");
}
