// Text of results, machine, metric and preset files is text wherever it goes.
#include "hostile.hpp"
#include "latex_escapes.hpp"

#include "commands/cli/commands.hpp"
#include "commands/lint/lint_report.hpp"
#include "commands/report/build_report.hpp"
#include "count/metric/metric.hpp"
#include "model/machine.hpp"
#include "show/command/output.hpp"
#include "show/document/document.hpp"
#include "show/plot/layout.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <filesystem>
#include <sys/mman.h>
#include <unistd.h>

using namespace recount;
using namespace recount::hostile;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(hostile_text)

namespace {
const fs::path source = RECOUNT_SOURCE;

std::vector<fs::path> files(const std::string& folder, const std::string& suffix) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(source / folder))
    if (entry.path().extension() == suffix) found.push_back(entry.path());
  std::ranges::sort(found);
  BOOST_TEST_REQUIRE(!found.empty());
  return found;
}

/// The script of a figure in all formats; empty where the results cannot fill it.
std::string script_of(const std::string& name, const result::Results& results) {
  plot::Sheet sheet;
  try {
    sheet = plot::find(cli::figures(), name).compose(results, {});
  } catch (const Error& error) {
    BOOST_TEST((error.kind() == ErrorKind::bad_input));
    return {};
  }
  std::vector<plot::Drawing> drawings;
  for (const auto format : plot::formats)
    drawings.push_back({format, "figure", "", lay_out(sheet, plot::make_canvas(format, 3.33)), false});
  const int fd = ::memfd_create("script", 0); // gnuplot-iostream wants a descriptor
  {
    plot::GnuplotWriter writer(::fdopen(::dup(fd), "w"));
    plot::write_script(writer, sheet, drawings);
    BOOST_TEST(writer.flush());
  }
  std::string script(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)), '\0');
  BOOST_TEST(::pread(fd, script.data(), script.size(), 0) == std::ssize(script));
  ::close(fd);
  return script;
}

struct Shapes {
  std::set<std::string> words, elements, commands;
};

std::string no_svg(const std::string& /*name*/) {
  return {};
}

std::optional<report::Report> report_of(const result::Results& results) {
  try {
    return report::build_report(results, {{"file.jsonl"}, "0", ""}, {cli::figures(), cli::sections()});
  } catch (const Error& error) {
    BOOST_TEST((error.kind() == ErrorKind::bad_input));
    return {};
  }
}

/// What the files hold as they are, and words and signs that other values bring in.
Shapes known_of(const std::vector<fs::path>& paths) {
  Shapes known{{"unset",   "key",      "nokey", "set",    "title",       "left",    "right",  "invert",
                "notitle", "with",     "lines", "points", "linespoints", "vectors", "nohead", "lw",
                "lt",      "logscale", "x",     "y",      "xrange",      "yrange",  "nan",    "inf"},
               {"<sup>", "</sup>", "<ul>", "</ul>", "<li>", "</li>", "<h3>", "</h3>", "<nav>", "</nav>",
                "<pre>", "</pre>", "<p class=>"},
               test::latex_escapes()};
  known.commands.insert({"subsection", "item", "ttfamily", "par"});
  for (const auto& path : paths) {
    const auto results = result::read_text(formula_text(path), "file.jsonl");
    for (const auto& [entry, compose, suits] : cli::figures())
      collect_words(script_of(entry.name, results), known.words);
    if (const auto report = report_of(results)) {
      known.elements.merge(elements_of(to_html(report->document, no_svg)));
      known.commands.merge(commands_of(to_latex(report->document)));
    }
  }
  return known;
}

void holds(const std::optional<std::string>& fault, const std::string& input) {
  BOOST_REQUIRE_MESSAGE(!fault, fault.value_or("") << "\nof input: " << input);
}

} // namespace

// What leaves a string is found: without this, a reader that finds nothing would pass everything.
BOOST_AUTO_TEST_CASE(the_readers_find_what_leaves_its_place) {
  const std::set<std::string> words{"set", "label", "at"};
  BOOST_TEST(!fault_of_script("set label 'a`b@c #' at 1\n# c\nset label \"a\\047b\" at 1\n", words));
  BOOST_TEST(!!fault_of_script("# a\nsystem('id')\n", words));
  BOOST_TEST(!!fault_of_script("set label 'a' b' at 1\n", words));
  BOOST_TEST(!!fault_of_script("set label 'a''b' at 1\n", words));
  BOOST_TEST(!!fault_of_script("set label \"`id`\" at 1\n", words));
  BOOST_TEST(!!fault_of_script("set label `id` at 1\n", words));
  BOOST_TEST(!!fault_of_script("!id\n", words));
  BOOST_TEST(!!fault_of_script("# a\\\nset label 'a' at 1\n", words));
  BOOST_TEST(!!fault_of_script("$a << e\n1 2\nset\ne\n", {"set", "a", "e"}));
  BOOST_TEST(!!fault_of_script("set label '\033' at 1\n", words));
  const std::set<std::string> tikz{"set", "terminal", "tikz", "label", "at"};
  BOOST_TEST(!fault_of_script("set terminal tikz\nset label '\\_\\textbackslash{}' at 1\n", tikz));
  BOOST_TEST(!!fault_of_script("set terminal tikz\nset label '\\input{x}' at 1\n", tikz));
  BOOST_TEST(!!fault_of_html("<p>a<script></p>", {"<p>", "</p>"}));
  BOOST_TEST(!!fault_of_html("<p onclick=\"x\"></p>", {"<p>", "</p>"}));
  BOOST_TEST(!!fault_of_latex("a \\input{x}", {"%"}));
  BOOST_TEST(!!fault_of_latex("a}", {}));
  BOOST_TEST(!!fault_of_markdown("a <b>\n"));
  BOOST_TEST(!!fault_of_markdown("a [b](c)\n"));
  BOOST_TEST(!!fault_of_terminal_text("a\u009b"));
}

BOOST_AUTO_TEST_CASE(results_are_text_in_every_figure_and_report) {
  const auto paths = files("tests/data/results", ".jsonl");
  const Shapes known = known_of(paths);
  const auto all = pieces("PWNED");
  std::vector<JsonText> texts;
  for (const auto& path : paths)
    texts.emplace_back(formula_text(path));
  std::mt19937 random(20261122);
  int refused = 0, scripts = 0, reports = 0;
  for (int i = 0; i < cases(); ++i) {
    const std::string input = texts[static_cast<std::size_t>(i) % texts.size()].mutated(random, all);
    result::Results results;
    try {
      results = result::read_text(input, "file.jsonl");
    } catch (const Error& error) {
      ++refused;
      holds(fault_of_terminal_text(command::terminal_text(command::error_text(error))), input);
      continue;
    }
    // A third of the figures for each input: all of them take minutes, and find nothing more.
    const auto& figures = cli::figures();
    for (std::size_t f = static_cast<std::size_t>(i / std::ssize(texts)) % 3; f < figures.size(); f += 3) {
      const std::string script = script_of(figures[f].entry.name, results);
      if (script.empty()) continue;
      ++scripts;
      holds(fault_of_script(script, known.words), input);
    }
    if (const auto report = report_of(results)) {
      ++reports;
      holds(fault_of_html(to_html(report->document, no_svg), known.elements), input);
      holds(fault_of_latex(to_latex(report->document), known.commands), input);
      holds(fault_of_markdown(to_markdown(report->document)), input);
    }
  }
  BOOST_TEST_MESSAGE(cases() << " results files: " << refused << " refused, " << scripts << " scripts, "
                             << reports << " reports in 3 formats");
  BOOST_TEST(scripts > 0);
  BOOST_TEST(reports > 0);
}

// Machines and metrics: what is said of a file that is refused, and the name of one that is not.
BOOST_AUTO_TEST_CASE(machines_and_metrics_are_text_on_a_terminal) {
  std::mt19937 random(1);
  const auto all = pieces("PWNED");
  const auto shown = [](const std::string& text) {
    show::Table table({{text}, {"b"}});
    table.add({text, "c"});
    return command::terminal_text(command::table_text(table) + command::wrap(text, 80, 2) +
                                  command::paint(command::Style::bad, text));
  };
  std::vector<JsonText> machines;
  for (const auto& path : files("src/model/data", ".json"))
    machines.emplace_back(formula_text(path));
  const std::string metrics = formula_text(source / "src/count/metric/data/recount.metrics");
  for (int i = 0; i < cases(); ++i) {
    std::string machine = machines[random() % machines.size()].mutated(random, all), metric = metrics;
    metric.insert(random() % metric.size(), payload(random, all));
    const auto check = [&](const std::string& input, const auto& parse) {
      std::string text;
      try {
        text = shown(parse(input));
      } catch (const Error& error) {
        text = command::terminal_text(command::error_text(error));
      }
      holds(fault_of_terminal_text(text), input);
    };
    check(machine, [](const auto& text) { return model::parse_machine(text, "m.json").name; });
    check(metric, [](const auto& text) {
      std::string words;
      for (const auto& one : metric::parse(text, "m.metrics"))
        words += one.name + one.prose + one.unit;
      return words;
    });
  }
}

BOOST_AUTO_TEST_CASE(preset_tables_are_text_on_a_terminal_and_in_json) {
  std::mt19937 random(2);
  const auto all = pieces("PWNED");
  std::vector<std::string> tables;
  for (const auto& path : files("tests/data/presets", ".csv"))
    tables.push_back(formula_text(path));
  for (int i = 0; i < cases() / 4; ++i) {
    std::string text = tables[random() % tables.size()];
    text.insert(random() % (text.size() + 1), payload(random, all));
    const auto result = lint::lint(PresetTable::of(text, "t\033.csv"), {});
    lint::ReportOptions options;
    options.notes = true;
    options.most = 0;
    for (const auto& made :
         {lint::as_text("t\033.csv", result, options), lint::as_annotations("t\033.csv", result)})
      holds(fault_of_terminal_text(command::terminal_text(made)), text);
    const std::string json = lint::as_json({{"t\033.csv", result}}), printed = command::terminal_text(json);
    holds(fault_of_terminal_text(printed), text);
    BOOST_TEST((nlohmann::json::parse(printed) == nlohmann::json::parse(json)));
  }
}

BOOST_AUTO_TEST_SUITE_END()
