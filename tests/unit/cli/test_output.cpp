// Tables, sizes, wrapping.
#include "command/output.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdio>
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

BOOST_AUTO_TEST_CASE(controls_of_input_are_shown_and_own_ones_sent) {
  const std::string red = own_controls("\033[31m"), plain = own_controls("\033[0m");
  BOOST_TEST(width(red + "bad" + plain) == 3U);
  BOOST_TEST(terminal_text(red + "bad" + plain) == "\033[31mbad\033[0m");
  BOOST_TEST(terminal_text("\033[31mbad\033[0m\r\x7f") == R"(\u001b[31mbad\u001b[0m\u000d\u007f)");
  BOOST_TEST(terminal_text(red + "a\033[1mb" + plain + "\033[0m") == "\033[31ma\\u001b[1mb\033[0m\\u001b[0m");
  // A table that breaks a styled cell ends the style of each line by itself.
  BOOST_TEST(terminal_text(red + "a\033[0m\n" + red + "b" + plain) == "\033[31ma\033[0m\n\033[31mb\033[0m");
  BOOST_TEST(terminal_text("\u009b2J \u202e \u200b \xff\xe2\x80 µ\t\n") ==
             "\\u009b2J \\u202e \\u200b \\xff\\xe2\\x80 µ\t\n");
  BOOST_TEST(terminal_text("\U000E0041") == R"(\udb40\udc41)");
  BOOST_TEST(terminal_text(std::string_view("a\0b", 3)) == R"(a\u0000b)");
  const std::string once = terminal_text("\033]0;x\007");
  BOOST_TEST(terminal_text(once) == once);
}

BOOST_AUTO_TEST_CASE(what_is_printed_passes_the_same_function) {
  std::FILE* const file = std::tmpfile();
  BOOST_TEST_REQUIRE(file != nullptr);
  cli::print(file, "\r{}\033[K{}\n", "a\033[2Jb", 1);
  std::rewind(file);
  std::array<char, 100> bytes{};
  const std::size_t n = std::fread(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  BOOST_TEST(std::string(bytes.data(), n) == "\ra\\u001b[2Jb\033[K1\n");
}

BOOST_AUTO_TEST_CASE(a_cell_and_the_subject_of_an_error_keep_to_their_line) {
  Table t({{"a\n"}, {"b"}});
  t.add({"x\ny\t", "z"});
  BOOST_TEST(t.text() == "a\\u000a         b\n"
                         "x\\u000ay\\u0009  z\n");
  BOOST_TEST(error_text(bad_input("x\nrecount: y", "a\nrecount: b")) ==
             "recount: x\\u000arecount: y: a\n  recount: b\n");
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
