#include "plot/axis.hpp"
#include "plot/format.hpp"
#include "plot/gnuplot_writer.hpp"
#include "plot/text.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <type_traits>

BOOST_AUTO_TEST_SUITE(text_and_axes)

BOOST_AUTO_TEST_CASE(bytes_in_powers_of_1024) {
  BOOST_TEST(base::format_bytes(1) == "1 B");
  BOOST_TEST(base::format_bytes(1023) == "1023 B");
  BOOST_TEST(base::format_bytes(4096) == "4 KiB");
  BOOST_TEST(base::format_bytes(1.5 * 1024 * 1024) == "1.5 MiB");
  BOOST_TEST(base::format_bytes(64.0 * 1024 * 1024 * 1024) == "64 GiB");
  BOOST_TEST(base::format_bytes(32768, true) == "32K");
  BOOST_TEST(base::format_bytes(64, true) == "64");
  BOOST_TEST(recount::base::format_size(1536 * 1024) == "1536K"); // exact
  BOOST_TEST(recount::base::format_size(1000) == "1000");
}

BOOST_AUTO_TEST_CASE(widths_follow_the_font) {
  BOOST_TEST(plot::text_width("00", 10) == 11.2, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(plot::text_width("W", 7) > text_width("i", 7));
  BOOST_TEST(plot::text_width("µ–", 10) == 11.2, boost::test_tools::tolerance(1e-9)); // characters, not bytes
  BOOST_TEST(plot::characters("p10–p90") == 7U);
}

// Text that exists at run time reaches gnuplot as a string, a comment or a file name, or does not compile.
static_assert(!std::is_constructible_v<plot::GnuplotCode, std::string>);
static_assert(!std::is_constructible_v<plot::GnuplotCode, std::string_view>);
static_assert(!std::is_constructible_v<plot::GnuplotCode, const char*>);
static_assert(!std::is_convertible_v<std::string, plot::Literal>);
static_assert(!std::is_convertible_v<const char*, plot::Literal>);
static_assert(!GnuplotPart<std::string> && !GnuplotPart<const char*> && !GnuplotPart<char>);
template <class T>
concept Streamable = requires(plot::GnuplotWriter& writer, const T& value) {
  writer << value;
};
static_assert(Streamable<plot::GnuplotCode> && !Streamable<std::string> && !Streamable<const char*>);

BOOST_AUTO_TEST_CASE(quoting_leaves_nothing_to_execute) {
  BOOST_TEST(plot::quoted("it's").text() == R"("it\047s")");
  BOOST_TEST(plot::quoted("a'; system \"x\"\nb").text() == R"("a\047; system \042x\042\134u000ab")");
  BOOST_TEST(plot::quoted(std::string_view("\0\033[31m\x7f", 7)).text() == R"('\u0000\u001b[31m\u007f')");
  BOOST_TEST(plot::quoted("\u009b\u202e\xff\xed\xa0\x80").text() == R"('\u009b\u202e\xff\xed\xa0\x80')");
  BOOST_TEST(plot::quoted("PAPI_L1_DCM").text() == "'PAPI_L1_DCM'");
  BOOST_TEST(plot::quoted("PAPI_L1 5% {a} \\x", true).text() == R"('PAPI\_L1 5\% \{a\} \textbackslash{}x')");
  BOOST_TEST(plot::quoted_tic("5 %d", false).text() == "'5 %%d'");
  BOOST_TEST(plot::quoted_tic("5 %d", true).text() == R"('5 \%%d')");
}

BOOST_AUTO_TEST_CASE(a_comment_is_one_line) {
  BOOST_TEST(plot::comment("X\nsystem('id > PWNED')\n#").text() == R"(# X\u000asystem('id > PWNED')\u000a#)"
                                                                   "\n");
  BOOST_TEST(plot::comment("a\r`id`@b\\").text() == R"(# a\u000d`id`@b\ )"
                                                    "\n");
}

BOOST_AUTO_TEST_CASE(a_file_name_is_no_pipe) {
  BOOST_TEST(plot::file_literal("fig.svg").text() == "'fig.svg'");
  BOOST_TEST(plot::file_literal("|id.svg").text() == "'./|id.svg'");
  BOOST_TEST(plot::file_literal("~a").text() == "'./~a'");
  BOOST_TEST(plot::file_literal("-").text() == "'./-'");
  BOOST_TEST(plot::file_literal("a'\n").text() == R"("a\047\012")");
}

BOOST_AUTO_TEST_CASE(pieces_are_wrapped_whole) {
  const auto wide = [](std::string_view t) { return static_cast<double>(t.size()); };
  const auto lines = plot::wrap({"aaaa", "bb", "", "cccc"}, "; ", 8, wide);
  BOOST_CHECK(lines == (std::vector<std::string>{"aaaa; bb", "cccc"}));
}

BOOST_AUTO_TEST_CASE(linear_tics_are_round) {
  const plot::Axis a = plot::linear_axis(0, 5.3, 5);
  BOOST_TEST_REQUIRE(a.tics.size() == 3U);
  BOOST_TEST(a.tics[1].text == "2");
  const plot::Axis share = plot::linear_axis(-0.03, 1.03, 5);
  BOOST_TEST(share.tics.front().text == "0.0");
  BOOST_TEST(share.tics.back().text == "1.0");
  BOOST_TEST(plot::linear_axis(0, 0, 4).high > 0.0);
  BOOST_TEST(plot::linear_axis(0, 3e-6, 4).tics.size() > 2U);
}

BOOST_AUTO_TEST_CASE(log_tics_never_touch) {
  const auto name = [](double v) { return base::format_bytes(v); };
  const auto wide = [](const std::string& t) { return plot::text_width(t, 7); };
  for (const double length : {60.0, 150.0, 190.0, 460.0}) {
    for (int powers = 0; powers < 30; ++powers) {
      const plot::Axis a = plot::log2_axis(1, std::exp2(powers), length, 5, name, wide);
      for (std::size_t i = 1; i < a.tics.size(); ++i) {
        const double apart = (a.place(a.tics[i].at) - a.place(a.tics[i - 1].at)) * length;
        BOOST_TEST(apart >= (wide(a.tics[i].text) + wide(a.tics[i - 1].text)) / 2 + 5 - 1e-9);
      }
      BOOST_TEST(!a.tics.empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(formats_by_name_and_suffix) {
  BOOST_CHECK(plot::parse_format("tikz") == plot::Format::tikz);
  BOOST_CHECK_THROW(static_cast<void>(plot::parse_format("gif")), recount::Error);
  BOOST_CHECK(plot::format_of("a/b.svg") == plot::Format::svg);
  BOOST_CHECK(!plot::format_of("a/b").has_value());
  BOOST_TEST(plot::with_suffix("fig.pdf", plot::Format::png) == "fig.png");
  BOOST_TEST(plot::with_suffix("fig", plot::Format::svg) == "fig.svg");
  BOOST_TEST(plot::with_suffix("fig.pdf", plot::Format::cairolatex) == "fig-latex.tex");
  for (const auto f : plot::formats())
    BOOST_CHECK(plot::parse_format(plot::name_of(f)) == f);
}

BOOST_AUTO_TEST_SUITE_END()
