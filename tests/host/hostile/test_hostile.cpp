// Hostile results drawn by the gnuplot of this machine: no command in them is executed.
#include "base/process/child.hpp"
#include "base/process/temporary_folder.hpp"
#include "base/text.hpp"
#include "commands/cli/commands.hpp"
#include "show/plot/sheet.hpp"
#include "skip.hpp"
#include "unit/hostile/hostile.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <set>

using namespace recount;
using namespace recount::hostile;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(hostile_figures)

namespace {
std::string file_contents(const std::filesystem::path& path) {
  return base::read_file(path).value_or("");
}

/// A folder of its own, in which the test runs.
struct Place {
  process::TemporaryFolder temporary{"recount-hostile"};
  fs::path before = fs::current_path(), folder = temporary.path();
  Place() { fs::current_path(folder); }
  ~Place() { fs::current_path(before); }
  [[nodiscard]] std::string marker() const { return (folder / "PWNED").string(); }
};

std::set<std::string> names_of_elements(const std::string& svg) {
  std::set<std::string> names;
  for (const auto& tag : elements_of(svg))
    names.insert(tag.substr(0, tag.find_first_of(" \t\n>", 1)));
  return names;
}

std::vector<plot::Target> targets() {
  std::vector<plot::Target> all;
  for (const auto format : plot::formats)
    all.push_back({format, plot::with_suffix("figure.pdf", format)});
  return all;
}

void run_script(const std::string& name) {
  process::Spawn spawn;
  spawn.argv = {"gnuplot", "--default-settings", name};
  const auto got = process::capture(spawn, {}, std::chrono::minutes(2));
  BOOST_CHECK_MESSAGE(got.exit.ok(), process::describe(got.exit) << ": " << got.err);
}
} // namespace

BOOST_AUTO_TEST_CASE(nothing_in_results_is_executed) {
  if (!process::find_program("gnuplot")) return test::skip("gnuplot is not installed");
  const Place place;
  auto all = pieces(place.marker());
  all.resize(command_pieces); // few figures are drawn: the others are read by the unit test
  std::vector<JsonText> texts;
  for (const auto& entry : fs::directory_iterator(fs::path(RECOUNT_SOURCE) / "tests/data/results"))
    texts.emplace_back(formula_text(entry.path()));
  static const std::set<std::string> known{"<?xml",    "<svg",         "</svg",   "<title",   "</title",
                                           "<desc",    "</desc",       "<g",      "<filter",  "</filter",
                                           "<feFlood", "<feComposite", "</g",     "<defs",    "</defs",
                                           "<text",    "</text",       "<tspan",  "</tspan",  "<path",
                                           "<use",     "<rect",        "<circle", "<polygon", "<polyline"};
  std::mt19937 random(20261122);
  int drawn = 0;
  const int wanted = std::max(4, cases() / 100);
  for (int i = 0; i < 20 * wanted && drawn < wanted; ++i) {
    const std::string input = texts[static_cast<std::size_t>(i) % texts.size()].mutated(random, all);
    const auto& figure = cli::figures()[random() % cli::figures().size()];
    plot::Options options;
    options.targets = targets();
    options.script = "figure.gp";
    try {
      plot::draw(figure.compose(result::read_text(input, "file.jsonl"), {}), options);
    } catch (const Error& error) {
      BOOST_CHECK_MESSAGE(error.kind() == ErrorKind::bad_input, error.what() << "\nof input: " << input);
      continue;
    }
    ++drawn;
    run_script("figure.gp");
    const std::string svg = file_contents("figure.svg");
    for (const auto& element : names_of_elements(svg))
      BOOST_CHECK_MESSAGE(known.contains(element), element << " of input: " << input);
    BOOST_TEST(!fault_of_terminal_text(svg), input);
    BOOST_REQUIRE_MESSAGE(!fs::exists(place.marker()), "executed: " << input);
  }
  BOOST_TEST_MESSAGE(drawn << " figures in " << targets().size() << " formats, each twice");
  BOOST_TEST(drawn > 0);
}

BOOST_AUTO_TEST_CASE(nothing_in_a_live_curve_is_executed) {
  if (!process::find_program("gnuplot")) return test::skip("gnuplot is not installed");
  const Place place;
  const auto all = pieces(place.marker());
  std::mt19937 random(3);
  for (int i = 0; i < std::max(4, cases() / 100); ++i) {
    plot::LiveCurve curve{payload(random, all), 0, 10, {{0, 1, 5}, {1, 2, 6}}, {{0.5, payload(random, all)}}};
    const std::string text = plot::draw_live(curve, {});
    BOOST_TEST(text.find('\033') == std::string::npos);
    BOOST_REQUIRE(!fs::exists(place.marker()));
  }
}

BOOST_AUTO_TEST_SUITE_END()
