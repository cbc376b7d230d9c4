// A document in each format: nothing in its words becomes markup, whatever they are.
#include "../hostile/latex_escapes.hpp"
#include "show/document/document.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>

BOOST_AUTO_TEST_SUITE(formats)

namespace {

recount::document::Document with(const std::string& text) {
  recount::document::Document document{text, text, {}};
  recount::show::Table table({recount::show::number(text), {text}}, text);
  table.add({text, text});
  table.notes = {text};
  document.blocks = {recount::document::Heading{text, 1},        recount::document::Paragraph{text},
                     recount::document::List{{text, text}},      table,
                     recount::document::Picture{"figure", text}, recount::document::Code{text}};
  return document;
}

std::string no_svg(const std::string& /*name*/) {
  return {};
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The names of all elements of a page, "/p" for its end.
std::vector<std::string> elements(const std::string& html) {
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = html.find('<', at)) != html.npos; ++at)
    names.push_back(html.substr(at + 1, html.find_first_of(" >\n", at) - at - 1));
  return names;
}

/// Escapes in the text of a document.
bool is_escape(const std::string& name) {
  static const auto escapes = recount::test::latex_escapes();
  return escapes.contains(name) || name == "scriptsize";
}

} // namespace

BOOST_AUTO_TEST_CASE(every_block_is_there_in_every_format) {
  const recount::document::Document document = with("words");
  const std::string markdown = recount::document::to_markdown(document),
                    html = recount::document::to_html(document, no_svg),
                    tex = recount::document::to_latex(document);
  BOOST_TEST(holds(markdown, "# words\n"));
  BOOST_TEST(holds(markdown, "| words | words |\n| ---: | :--- |\n| words | words |\n"));
  BOOST_TEST(holds(markdown, "![Figure 1](figure.svg)"));
  BOOST_TEST(holds(markdown, "```\nwords\n```"));
  BOOST_TEST(holds(html, "<td class=\"number\">words</td><td>words</td>"));
  BOOST_TEST(holds(html, "default-src 'none'"));
  BOOST_TEST(holds(tex, "\\includegraphics[width=0.6\\linewidth]{figure.pdf}"));
  BOOST_TEST(holds(tex, "words & words \\\\"));
  BOOST_TEST(holds(tex, "\\author{\\parbox{")); // names of many files: alone, an author's line does not break
}

BOOST_AUTO_TEST_CASE(a_table_is_there_by_itself) {
  recount::show::Table table({recount::show::number("n"), {"a, \"b\""}}, "Times %\nof 2");
  table.rows = {{"1", "x_y"}, {"2", "line\nbreak"}};
  table.notes = {"by\rthe clock"};
  const std::string tex = recount::document::latex_table(table), csv = recount::show::csv_text(table);
  BOOST_TEST(tex.starts_with("% Times % of 2\n% by the clock\n"));
  for (const char* part :
       {"\\begin{tabular}{@{}rl@{}}\n\\toprule", "\\midrule", "1 & x\\_", "\\bottomrule\n\\end{tabular}\n"})
    BOOST_TEST(holds(tex, part), part);
  for (const char* part : {"\\begin{document}", "\\tablecaption", "minipage"}) // nothing of a whole document
    BOOST_TEST(!holds(tex, part), part);
  BOOST_TEST(csv == "n,\"a, \"\"b\"\"\"\n1,x_y\n2,\"line\nbreak\"\n");
}

BOOST_AUTO_TEST_CASE(csv_of_values_has_one_per_line) {
  recount::show::Table table({recount::show::number("n"), recount::show::number("misses (10^6)")}, "T");
  table.rows = {{"600", "1.23 [1, 2]"}};
  recount::show::Datum counted{{{"n", "600"}}, "PAPI_L1_DCM", "median", 1234567.0, 1e6, 2e6};
  counted.witness = "perf";
  counted.repetitions = 5;
  counted.disturbed = 1;
  recount::show::Datum missing{{{"n", "700"}, {"loops", "=line, plain"}}, "seconds"};
  missing.unit = "s";
  missing.reason = "no PMU";
  table.data = {counted, missing, {{}, "ratio", "value", -0.1}, {{}, "ratio", "value", 0.0 / 0.0}};
  BOOST_TEST(recount::show::csv_text(table) ==
             "n,loops,quantity,statistic,value,low,high,unit,witness,repetitions,disturbed,reason\n"
             "600,,PAPI_L1_DCM,median,1234567,1000000,2000000,,perf,5,1,\n"
             "700,\"'=line, plain\",seconds,,,,,s,,,,no PMU\n"
             ",,ratio,value,-0.1,,,,,,,\n"
             ",,ratio,value,,,,,,,,no reason given\n");
}

BOOST_AUTO_TEST_CASE(fields_that_a_spreadsheet_would_execute_are_defused) {
  recount::show::Table table(
      {recount::show::number("a"), recount::show::number("b"), recount::show::number("c")}, "T");
  table.rows = {{"=1+2", "-3.5", "+0.2"}, {"@SUM(A1)", "-", "-1+cmd|x"}, {"+x", "\tx", "7"}};
  BOOST_TEST(recount::show::csv_text(table) == "a,b,c\n'=1+2,-3.5,+0.2\n'@SUM(A1),-,'-1+cmd|x\n'+x,'\tx,7\n");
}

BOOST_AUTO_TEST_CASE(powers_are_raised) {
  BOOST_TEST(
      holds(recount::document::to_html(with("units of 10^6, n^3"), no_svg), "10<sup>6</sup>, n<sup>3</sup>"));
  BOOST_TEST(holds(recount::document::to_latex(with("10^12 x")), "10\\textsuperscript{12} x"));
  BOOST_TEST(holds(recount::document::to_latex(with("a^b")), "a\\textasciicircum{}b"));
}

BOOST_AUTO_TEST_CASE(signs_that_mean_something_are_escaped) {
  const std::string text = "a|b *c* [d](e) <f> & `g` $h$ \\i # ~ http://j 5 % {k} l_m";
  const std::string markdown = recount::document::to_markdown(with(text));
  BOOST_TEST(holds(
      markdown,
      "a\\|b \\*c\\* \\[d\\](e) \\<f\\> \\& \\`g\\` \\$h\\$ \\\\i \\# \\~ http&#58;//j 5 % \\{k\\} l_m"));
  BOOST_TEST(
      holds(recount::document::to_html(with(text), no_svg), "a|b *c* [d](e) &lt;f&gt; &amp; `g` $h$ \\i"));
  BOOST_TEST(holds(recount::document::to_latex(with(text)),
                   "\\textasciigrave{}g\\textasciigrave{} \\$h\\$ \\textbackslash{}i \\# "));
  BOOST_TEST(holds(recount::document::to_markdown(with("1. x")), "\n1\\. x\n"));
  BOOST_TEST(holds(recount::document::to_markdown(with("- x")), "\n\\- x\n"));
}

BOOST_AUTO_TEST_CASE(what_no_font_has_is_named) {
  BOOST_TEST(holds(recount::document::to_latex(with("Größe – 3 × 4 ≤ 漢")),
                   "Größe -- 3 $\\times$ 4 $\\le$ \\texttt{U+6F22}"));
  BOOST_TEST(holds(recount::document::to_html(with("漢\xFF"), no_svg), "漢\xEF\xBF\xBD"));
  BOOST_TEST(!holds(recount::document::to_html(with("a\u202Eb"), no_svg), "\u202E")); // turns the text about
}

BOOST_AUTO_TEST_CASE(random_bytes_add_no_element_and_no_command) {
  std::mt19937 random(7);
  const std::string alphabet = "<>&\"'\\{}$%#_^~|`*[]()!-+=.:/ \n\t0n6ab\x01\x80\xC3\xA9\xE2\x80\xAE\xFF";
  const auto html_elements = elements(recount::document::to_html(with("x"), no_svg));
  auto tex_commands = recount::test::latex_commands(recount::document::to_latex(with("x")));
  std::erase_if(tex_commands, is_escape);
  for (int i = 0; i < 400; ++i) {
    std::string text = "x"; // empty words need no elements
    for (std::size_t n = random() % 60; n > 0; --n)
      text += alphabet[random() % alphabet.size()];
    auto found = elements(recount::document::to_html(with(text), no_svg));
    std::erase_if(found, [](const auto& name) { return name == "sup" || name == "/sup"; });
    BOOST_TEST((found == html_elements));
    const std::string tex = recount::document::to_latex(with(text));
    auto said = recount::test::latex_commands(tex);
    std::erase_if(said, is_escape);
    BOOST_TEST((said == tex_commands));
    BOOST_TEST(recount::test::latex_braces_match(tex));
  }
}

BOOST_AUTO_TEST_CASE(picture_on_a_page_is_an_image_in_which_nothing_is_markup) {
  const auto svg = [](const std::string&) { return std::string("<svg><script>\"x'</script></svg>"); };
  const std::string html = recount::document::to_html(with("words"), svg);
  BOOST_TEST(
      holds(html, "src=\"data:image/svg+xml,%3Csvg%3E%3Cscript%3E%22x%27%3C%2Fscript%3E%3C%2Fsvg%3E\""));
  BOOST_TEST(!holds(html, "<svg"));
}

BOOST_AUTO_TEST_SUITE_END()
