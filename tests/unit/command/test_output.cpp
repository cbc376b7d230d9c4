// Tables, sizes, wrapping.
#include "base/process/temporary_folder.hpp"
#include "base/text.hpp"
#include "show/command/output.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using namespace recount;

BOOST_AUTO_TEST_CASE(columns_fit_and_lines_have_no_trailing_blanks) {
  show::Table t({{"name"}, {"n", show::Role::number}, {"what"}});
  t.add({"a", "1000", "x"});
  t.add({"µµµµµ", "7"}); // five columns wide, ten bytes long
  BOOST_TEST(command::table_text(t) == "name      n  what\n"
                                       "a      1000  x\n"
                                       "µµµµµ     7\n");
}

BOOST_AUTO_TEST_CASE(a_table_without_heads_has_no_head_line) {
  show::Table t({{""}, {""}});
  t.add({"a", "b"});
  BOOST_TEST(command::table_text(t) == "a  b\n");
}

BOOST_AUTO_TEST_CASE(width_ignores_styles) {
  BOOST_TEST(command::width("µs") == 2U);
  BOOST_TEST(command::width("\033[1mbold\033[0m") == 4U);
}

BOOST_AUTO_TEST_CASE(input_controls_are_escaped_own_ones_sent) {
  const std::string red = command::own_controls("\033[31m"), plain = command::own_controls("\033[0m");
  BOOST_TEST(command::width(red + "bad" + plain) == 3U);
  BOOST_TEST(command::terminal_text(red + "bad" + plain) == "\033[31mbad\033[0m");
  BOOST_TEST(command::terminal_text("\033[31mbad\033[0m\r\x7f") == R"(\u001b[31mbad\u001b[0m\u000d\u007f)");
  BOOST_TEST(command::terminal_text(red + "a\033[1mb" + plain + "\033[0m") ==
             "\033[31ma\\u001b[1mb\033[0m\\u001b[0m");
  // A table that breaks a styled cell ends the style of each line by itself.
  BOOST_TEST(command::terminal_text(red + "a\033[0m\n" + red + "b" + plain) ==
             "\033[31ma\033[0m\n\033[31mb\033[0m");
  BOOST_TEST(command::terminal_text("\u009b2J \u202e \u200b \xff\xe2\x80 µ\t\n") ==
             "\\u009b2J \\u202e \\u200b \\xff\\xe2\\x80 µ\t\n");
  BOOST_TEST(command::terminal_text("\U000E0041") == R"(\udb40\udc41)");
  BOOST_TEST(command::terminal_text(std::string_view("a\0b", 3)) == R"(a\u0000b)");
  const std::string once = command::terminal_text("\033]0;x\007");
  BOOST_TEST(command::terminal_text(once) == once);
}

BOOST_AUTO_TEST_CASE(print_escapes_its_arguments) {
  std::FILE* const file = std::tmpfile();
  BOOST_TEST_REQUIRE(file != nullptr);
  command::print(file, "\r{}\033[K{}\n", "a\033[2Jb", 1);
  std::rewind(file);
  std::array<char, 100> bytes{};
  const std::size_t n = std::fread(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  BOOST_TEST(std::string(bytes.data(), n) == "\ra\\u001b[2Jb\033[K1\n");
}

BOOST_AUTO_TEST_CASE(cells_and_error_subjects_stay_on_one_line) {
  show::Table t({{"a\n"}, {"b"}});
  t.add({"x\ny\t", "z"});
  BOOST_TEST(command::table_text(t) == "a\\u000a         b\n"
                                       "x\\u000ay\\u0009  z\n");
  BOOST_TEST(command::error_text(bad_input("x\nrecount: y", "a\nrecount: b")) ==
             "recount: x\\u000arecount: y: a\n  recount: b\n");
}

BOOST_AUTO_TEST_CASE(sizes_take_the_largest_unit_that_fits) {
  BOOST_TEST(base::format_bytes(512) == "512 B");
  BOOST_TEST(base::format_bytes(32768) == "32 KiB");
  BOOST_TEST(base::format_bytes(1536 * 1024) == "1.5 MiB");
  BOOST_TEST(base::format_bytes(std::int64_t{3} << 40) == "3 TiB");
}

BOOST_AUTO_TEST_CASE(lines_are_wrapped_and_indented) {
  BOOST_TEST(command::wrap("one two three", 9, 2) == "one two\n  three");
  BOOST_TEST(command::wrap("unbreakableword", 5, 0) == "unbreakableword");
}

BOOST_AUTO_TEST_CASE(an_error_has_a_line_for_each_part_it_has) {
  const Error full = unavailable("ev", "refused (EACCES)", "k = 3", "do this");
  BOOST_TEST(command::error_text(full) == "recount: ev: refused (EACCES) (k = 3)\n  fix: do this\n");
  BOOST_TEST(command::error_text(bad_input("x", "bad")) == "recount: x: bad\n");
}

namespace {
show::Table wide() {
  show::Table t({{"name"}, {"count", show::Role::number}, {"what it is"}}, "Some things");
  t.add({"perf::PAGE-FAULTS", "1234567", "page faults, minor and major, of all threads"});
  t.add({"perf::CS", "8", "context switches"});
  return t;
}

show::Table ranked() {
  using enum show::Role;
  show::Table t({{"event"},
                 {"1: median (95 %)", number, 0, "1: median"},
                 {"2 / 1", number},
                 {"empty", number, 2},
                 {"kernel", words, 1}});
  t.add({"perf::PAGE-FAULTS", {"1.25 (1.20 to 1.30)", "1.25"}, "1.500", "0,0", "faults"});
  return t;
}

show::Table numbers() {
  using enum show::Role;
  show::Table t({{"n", words, 0, {}, true},
                 {"block", number, 0, {}, true},
                 {"a column", number},
                 {"another", number},
                 {"a third", number}});
  t.add({"1000", "64", "1 [0.9, 1.1]", "22 [21.0, 23.0]", "333 [331.0, 335.0]"});
  return t;
}

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t most = 0;
  for (std::string line; std::getline(lines, line);)
    most = std::max(most, command::width(line));
  return most;
}
} // namespace

BOOST_AUTO_TEST_CASE(text_is_wrapped_in_its_column_where_a_line_is_too_wide) {
  BOOST_TEST(command::table_text(wide(), stdout, 48) == "name                 count  what it is\n"
                                                        "perf::PAGE-FAULTS  1234567  page faults, minor\n"
                                                        "                            and major, of all\n"
                                                        "                            threads\n"
                                                        "perf::CS                 8  context switches\n");
}

BOOST_AUTO_TEST_CASE(a_row_is_a_record_where_columns_are_too_narrow) {
  BOOST_TEST(command::table_text(wide(), stdout, 30) == "perf::PAGE-FAULTS\n"
                                                        "    count: 1234567; what it\n"
                                                        "    is: page faults, minor and\n"
                                                        "    major, of all threads\n"
                                                        "perf::CS\n"
                                                        "    count: 8; what it is:\n"
                                                        "    context switches\n");
}

BOOST_AUTO_TEST_CASE(no_line_exceeds_the_requested_width) {
  for (std::size_t most = 21; most < 120; ++most)
    for (const auto& table : {wide(), ranked(), numbers()})
      BOOST_TEST(widest(command::table_text(table, stdout, most)) <= most, most);
}

BOOST_AUTO_TEST_CASE(columns_are_shortened_and_then_left_out_by_rank) {
  const std::string whole = command::table_text(ranked(), stdout, 70);
  BOOST_TEST(whole.starts_with("event                 1: median (95 %)  2 / 1  empty  kernel"), whole);
  const std::string narrow = command::table_text(ranked(), stdout, 56);
  BOOST_TEST(narrow.starts_with("event              1: median  2 / 1  empty  kernel\n"
                                "perf::PAGE-FAULTS       1.25  1.500    0,0  faults"),
             narrow);
  const std::string shorter = command::table_text(ranked(), stdout, 46);
  BOOST_TEST(shorter == "event              1: median  2 / 1  kernel\n"
                        "perf::PAGE-FAULTS       1.25  1.500  faults\n"
                        "  left out: empty\n");
  BOOST_TEST(command::table_text(ranked(), stdout, 36) == "event              1: median  2 / 1\n"
                                                          "perf::PAGE-FAULTS       1.25  1.500\n"
                                                          "  left out: kernel, empty\n");
}

BOOST_AUTO_TEST_CASE(a_table_of_numbers_is_split_behind_its_keys) {
  const std::string split = command::table_text(numbers(), stdout, 50);
  BOOST_TEST(split == "n     block      a column          another\n"
                      "1000     64  1 [0.9, 1.1]  22 [21.0, 23.0]\n"
                      "\n"
                      "n     block             a third\n"
                      "1000     64  333 [331.0, 335.0]\n",
             split);
  BOOST_TEST(command::table_text(numbers(), stdout, 49)
                 .starts_with("1000\n    block: 64; a column: 1 [0.9, 1.1]; another:"));
}

BOOST_AUTO_TEST_CASE(a_word_is_cut_where_a_table_would_not_fit) {
  show::Table t({{"share", show::Role::number}, {"function"}});
  t.add({"45 %", "a_function_with_a_name_that_is_longer_than_any_line_of_the_terminal_it_is_shown_on"});
  BOOST_TEST(widest(command::table_text(t, stdout, 60)) <= 60U);
  BOOST_TEST(command::table_text(t, stdout, 60).find("…") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(lines_of_prose_are_at_most_100_wide_and_break_between_words) {
  std::string words;
  for (int i = 0; i < 60; ++i)
    words += "word" + std::to_string(i) + " ";
  BOOST_TEST(widest(command::fit_lines(words, 200)) <= command::max_of_prose);
  const std::string lines = command::fit_lines("  fix: " + words + "\nshort\n", 40);
  BOOST_TEST(widest(lines) <= 40U);
  BOOST_TEST(lines.starts_with("  fix: word0 word1 "));
  BOOST_TEST(lines.find("\n    word") != std::string::npos);
  BOOST_TEST(lines.ends_with("\nshort\n"));
}

BOOST_AUTO_TEST_CASE(each_line_of_a_cell_has_its_style_on_a_terminal) {
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  std::FILE* const terminal = ::fdopen(::posix_openpt(O_RDWR | O_NOCTTY), "w");
  BOOST_TEST_REQUIRE(terminal != nullptr);
  show::Table t({{""}, {""}});
  t.add({show::Cell(show::Style::bad, "one two three four five"), "x"});
  BOOST_TEST(command::terminal_text(command::table_text(t, terminal, 20)) ==
             "\033[31mone two three\033[0m      x\n\033[31mfour five\033[0m\n");
  BOOST_TEST(command::table_text(t, stdout, 20) == "one two three      x\nfour five\n");
  std::fclose(terminal);
}

BOOST_AUTO_TEST_CASE(the_width_is_that_of_COLUMNS_or_80) {
  ::setenv("COLUMNS", "40", 1);
  BOOST_TEST(command::line_width() == 40U);
  ::setenv("COLUMNS", "1", 1); // of no use to anybody
  BOOST_TEST(command::line_width() == 20U);
  ::unsetenv("COLUMNS");
  std::FILE* const file = std::tmpfile();
  BOOST_TEST(command::line_width(file) == 80U);
  std::fclose(file);
}

BOOST_AUTO_TEST_CASE(digits_are_grouped) {
  BOOST_TEST(command::grouped("1234567") == "1,234,567");
  BOOST_TEST(command::grouped("-123456.789") == "-123,456.789");
  BOOST_TEST(command::grouped("123") == "123");
  BOOST_TEST(command::grouped("1e+20") == "1e+20");
  BOOST_TEST(command::grouped("inf") == "inf");
}

BOOST_AUTO_TEST_CASE(digits_follow_the_deviation) {
  BOOST_TEST(command::format_number(1234567) == "1,234,567");
  BOOST_TEST(command::format_number(1234567.4, 890) == "1,234,570");
  BOOST_TEST(command::format_number(51.23456, 0.34) == "51.23");
  BOOST_TEST(command::format_number(0.0123456, 0.0004) == "0.01235");
  BOOST_TEST(command::format_number(4309.9) == "4,310");
  BOOST_TEST(command::format_number(0.0572371) == "0.0572");
}

BOOST_AUTO_TEST_CASE(csv_quotes_and_has_one_line_per_row) {
  show::Table t({{"name"}, {"n", show::Role::number}, {"what"}});
  t.add({show::Cell(show::Style::strong, "a"), "1234567", "x, \"y\"\nz"});
  t.add({"1,000", "a,b"});
  BOOST_TEST(show::csv_text(t) == "name,n,what\n"
                                  "a,1234567,\"x, \"\"y\"\"\nz\"\n"
                                  "\"1,000\",\"a,b\",\n");
}

BOOST_AUTO_TEST_CASE(tables_are_exported_by_the_suffix) {
  const process::TemporaryFolder folder("recount-export");
  const std::filesystem::path path(folder.path());
  const auto text = [&](const char* name) { return base::read_file(path / name).value_or(""); };
  command::TableExport(path / "t.csv").write("all", {show::Table({{"none"}}), wide(), wide()});
  BOOST_TEST(text("t.csv").starts_with("name,count,what it is\nperf::PAGE-FAULTS,1234567,"));
  BOOST_TEST(text("t-Some-things.csv") == text("t.csv"));
  command::TableExport(path / "t.md").write("all", {wide()});
  BOOST_TEST(text("t.md").starts_with("# all\n"));
  BOOST_TEST(text("t.md").find("| name | count | what it is |\n| :--- | ---: | :--- |\n") !=
             std::string::npos);
  BOOST_CHECK_THROW(command::TableExport(path / "t.txt"), Error);
  BOOST_CHECK_THROW(command::TableExport(path / "no" / "t.csv"), Error);
}
