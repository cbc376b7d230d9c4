#include "show/plot/gnuplot.hpp"
#include "show/plot/layout.hpp"
#include "show/plot/sheet.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <type_traits>

using namespace recount::plot;

BOOST_AUTO_TEST_SUITE(text_and_axes)

BOOST_AUTO_TEST_CASE(bytes_in_powers_of_1024) {
  BOOST_TEST(recount::base::format_bytes(1) == "1 B");
  BOOST_TEST(recount::base::format_bytes(1023) == "1023 B");
  BOOST_TEST(recount::base::format_bytes(4096) == "4 KiB");
  BOOST_TEST(recount::base::format_bytes(1.5 * 1024 * 1024) == "1.5 MiB");
  BOOST_TEST(recount::base::format_bytes(64.0 * 1024 * 1024 * 1024) == "64 GiB");
  BOOST_TEST(recount::base::format_bytes(32768, true) == "32K");
  BOOST_TEST(recount::base::format_bytes(64, true) == "64");
  BOOST_TEST(recount::base::format_size(1536 * 1024) == "1536K"); // exact
  BOOST_TEST(recount::base::format_size(1000) == "1000");
}

BOOST_AUTO_TEST_CASE(widths_follow_the_font) {
  BOOST_TEST(recount::plot::text_width("00", 10) == 11.2, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(recount::plot::text_width("W", 7) > text_width("i", 7));
  BOOST_TEST(recount::plot::text_width("µ–", 10) == 11.2,
             boost::test_tools::tolerance(1e-9)); // characters, not bytes
  BOOST_TEST(recount::plot::characters("p10–p90") == 7U);
}

// Text that exists at run time reaches gnuplot as a string, a comment or a file name, or does not compile.
static_assert(!std::is_constructible_v<recount::plot::GnuplotCode, std::string>);
static_assert(!std::is_constructible_v<recount::plot::GnuplotCode, std::string_view>);
static_assert(!std::is_constructible_v<recount::plot::GnuplotCode, const char*>);
static_assert(!std::is_convertible_v<std::string, recount::plot::Literal>);
static_assert(!std::is_convertible_v<const char*, recount::plot::Literal>);
static_assert(!GnuplotPart<std::string> && !GnuplotPart<const char*> && !GnuplotPart<char>);
template <class T>
concept Streamable = requires(recount::plot::GnuplotWriter& writer, const T& value) {
  writer << value;
};
static_assert(Streamable<recount::plot::GnuplotCode> && !Streamable<std::string> && !Streamable<const char*>);

BOOST_AUTO_TEST_CASE(quoting_leaves_nothing_to_execute) {
  BOOST_TEST(recount::plot::quoted("it's").text() == R"("it\047s")");
  BOOST_TEST(recount::plot::quoted("a'; system \"x\"\nb").text() == R"("a\047; system \042x\042\134u000ab")");
  BOOST_TEST(recount::plot::quoted(std::string_view("\0\033[31m\x7f", 7)).text() ==
             R"('\u0000\u001b[31m\u007f')");
  BOOST_TEST(recount::plot::quoted("\u009b\u202e\xff\xed\xa0\x80").text() ==
             R"('\u009b\u202e\xff\xed\xa0\x80')");
  BOOST_TEST(recount::plot::quoted("PAPI_L1_DCM").text() == "'PAPI_L1_DCM'");
  BOOST_TEST(recount::plot::quoted("PAPI_L1 5% {a} \\x", true).text() ==
             R"('PAPI\_L1 5\% \{a\} \textbackslash{}x')");
  BOOST_TEST(recount::plot::quoted_tic("5 %d", false).text() == "'5 %%d'");
  BOOST_TEST(recount::plot::quoted_tic("5 %d", true).text() == R"('5 \%%d')");
}

BOOST_AUTO_TEST_CASE(a_comment_is_one_line) {
  BOOST_TEST(recount::plot::comment("X\nsystem('id > PWNED')\n#").text() ==
             R"(# X\u000asystem('id > PWNED')\u000a#)"
             "\n");
  BOOST_TEST(recount::plot::comment("a\r`id`@b\\").text() == R"(# a\u000d`id`@b\ )"
                                                             "\n");
}

BOOST_AUTO_TEST_CASE(a_file_name_is_no_pipe) {
  BOOST_TEST(recount::plot::file_literal("fig.svg").text() == "'fig.svg'");
  BOOST_TEST(recount::plot::file_literal("|id.svg").text() == "'./|id.svg'");
  BOOST_TEST(recount::plot::file_literal("~a").text() == "'./~a'");
  BOOST_TEST(recount::plot::file_literal("-").text() == "'./-'");
  BOOST_TEST(recount::plot::file_literal("a'\n").text() == R"("a\047\012")");
}

BOOST_AUTO_TEST_CASE(pieces_are_wrapped_whole) {
  const auto wide = [](std::string_view t) { return static_cast<double>(t.size()); };
  const auto lines = recount::plot::wrap({"aaaa", "bb", "", "cccc"}, 8, wide);
  BOOST_CHECK(lines == (std::vector<std::string>{"aaaa; bb", "cccc"}));
  BOOST_CHECK(recount::plot::wrap({"a bb cc", "dddd eeeeeeeee"}, 5, wide) ==
              (std::vector<std::string>{"a bb", "cc", "dddd", "eeeeeeeee"}));
}

BOOST_AUTO_TEST_CASE(linear_tics_are_round) {
  const recount::plot::Axis a = recount::plot::linear_axis(0, 5.3, 5);
  BOOST_TEST_REQUIRE(a.tics.size() == 3U);
  BOOST_TEST(a.tics[1].text == "2");
  const recount::plot::Axis share = recount::plot::linear_axis(-0.03, 1.03, 5);
  BOOST_TEST(share.tics.front().text == "0.0");
  BOOST_TEST(share.tics.back().text == "1.0");
  BOOST_TEST(recount::plot::linear_axis(0, 0, 4).high > 0.0);
  BOOST_TEST(recount::plot::linear_axis(0, 3e-6, 4).tics.size() > 2U);
}

BOOST_AUTO_TEST_CASE(log_tics_never_touch) {
  const auto name = [](double v) { return recount::base::format_bytes(v); };
  const auto wide = [](const std::string& t) { return recount::plot::text_width(t, 7); };
  for (const double length : {60.0, 150.0, 190.0, 460.0}) {
    for (int powers = 0; powers < 30; ++powers) {
      const recount::plot::Axis a = recount::plot::log2_axis(1, std::exp2(powers), length, 5, name, wide);
      for (std::size_t i = 1; i < a.tics.size(); ++i) {
        const double apart = (a.place(a.tics[i].at) - a.place(a.tics[i - 1].at)) * length;
        BOOST_TEST(apart >= (wide(a.tics[i].text) + wide(a.tics[i - 1].text)) / 2 + 5 - 1e-9);
      }
      BOOST_TEST(!a.tics.empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(formats_by_name_and_suffix) {
  BOOST_CHECK(recount::plot::parse_format("tikz") == recount::plot::Format::tikz);
  BOOST_CHECK_THROW(static_cast<void>(recount::plot::parse_format("gif")), recount::Error);
  BOOST_CHECK(recount::plot::format_by_suffix("a/b.svg") == recount::plot::Format::svg);
  BOOST_CHECK(!recount::plot::format_by_suffix("a/b").has_value());
  BOOST_TEST(recount::plot::with_suffix("fig.pdf", recount::plot::Format::png) == "fig.png");
  BOOST_TEST(recount::plot::with_suffix("fig", recount::plot::Format::svg) == "fig.svg");
  BOOST_TEST(recount::plot::with_suffix("fig.pdf", recount::plot::Format::cairolatex) == "fig-latex.tex");
  for (const auto f : recount::plot::formats)
    BOOST_CHECK(recount::plot::parse_format(recount::plot::name_of(f)) == f);
}

BOOST_AUTO_TEST_SUITE_END()
