// Figures through the gnuplot of this machine, and what happens where there is none or it fails.
#include "base/process/child.hpp"
#include "base/process/temporary_folder.hpp"
#include "base/text.hpp"
#include "show/plot/gnuplot.hpp"
#include "show/plot/sheet.hpp"
#include "skip.hpp"
#include "unit/plot/synthetic.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <clocale>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <locale>
#include <regex>
#include <sys/stat.h>

using namespace recount::plot;

using namespace recount;

namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(drawing)

namespace {
std::string file_contents(const std::filesystem::path& path) {
  return base::read_file(path).value_or("");
}

/// A folder of its own, and PATH as it was.
struct Place {
  process::TemporaryFolder temporary{"recount-test"};
  fs::path folder = temporary.path();
  std::string path = std::getenv("PATH") ? std::getenv("PATH") : "";
  ~Place() { ::setenv("PATH", path.c_str(), 1); }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (folder / name).string(); }
  /// A program named gnuplot that does `script`, before the real one in PATH.
  void fake_gnuplot(const std::string& script) const {
    fs::create_directory(folder / "bin");
    const auto file = folder / "bin" / "gnuplot";
    std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
    ::chmod(file.c_str(), 0755);
    ::setenv("PATH", ((folder / "bin").string() + ":" + path).c_str(), 1);
  }
  [[nodiscard]] std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().filename() != "bin") names.push_back(entry.path().filename());
    return names;
  }
};

bool have_gnuplot() {
  if (process::find_program("gnuplot")) return true;
  test::skip("gnuplot is not installed");
  return false;
}

std::string failure(const std::string& name, const result::Results& results, const plot::Options& options,
                    ErrorKind kind) {
  try {
    plot::draw(plot::compose(name, results), options);
  } catch (const Error& error) {
    BOOST_CHECK(error.kind() == kind);
    return error.what();
  }
  BOOST_ERROR("drawn all the same");
  return {};
}

plot::Options to(const std::string& path, plot::Format format = plot::Format::svg) {
  plot::Options options;
  options.targets = {{format, path}};
  return options;
}

std::size_t count(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), expression), std::sregex_iterator()));
}
} // namespace

BOOST_AUTO_TEST_CASE(every_format_comes_out_whole) {
  if (!have_gnuplot()) return;
  const Place place;
  plot::Options options;
  for (const auto f : plot::formats)
    options.targets.push_back({f, plot::with_suffix(place / "fig.pdf", f)});
  const auto drawn = plot::draw(plot::compose("access-time", timed_sweep()), options);
  BOOST_TEST(drawn.files.size() == 7U); // cairolatex makes two
  for (const auto& file : drawn.files)
    BOOST_TEST(fs::file_size(file) > 200U);
  BOOST_TEST(place.left().size() == 7U); // nothing else is left behind
  BOOST_TEST(file_contents(place / "fig.png").substr(1, 3) == "PNG");
  BOOST_TEST(file_contents(place / "fig.pdf").substr(0, 5) == "%PDF-");
  BOOST_TEST(file_contents(place / "fig.tikz").find("\\begin{tikzpicture}") != std::string::npos);
  const auto tex = file_contents(place / "fig-latex.tex");
  BOOST_TEST(tex.find("{fig-latex}") != std::string::npos);
  BOOST_TEST(tex.find(place.folder) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_svg_holds_axes_curves_labels_and_caption) {
  if (!have_gnuplot()) return;
  const Place place;
  plot::draw(plot::compose("working-set", timed_sweep()), to(place / "fig.svg"));
  const auto svg = file_contents(place / "fig.svg");
  BOOST_TEST(svg.find("width=\"320\"") != std::string::npos); // 3.33 in at 96 a inch
  for (const char* text : {"Some CPU @ 3 GHz", "working set", "time per access (ns)", "L1d 32 KiB",
                           "by the clock", "64 KiB", "Liberation Sans"})
    BOOST_TEST(svg.find(text) != std::string::npos, text);
  // Five strides: a band and a curve each.
  BOOST_TEST(count(svg, "<g id=\"gnuplot_plot_[0-9]+\"") == 10U);
  BOOST_TEST(count(svg, "#440154|rgb\\(\\s*68, +1, +84\\)") > 0U);
  // No text smaller than 7 pt at final size.
  const std::regex size("font-size=\"([0-9.]+)\"");
  for (std::sregex_iterator it(svg.begin(), svg.end(), size), end; it != end; ++it)
    BOOST_TEST(std::stod((*it)[1]) >= 9.33);
}

BOOST_AUTO_TEST_CASE(a_script_draws_the_same_bytes_again) {
  if (!have_gnuplot()) return;
  const Place place;
  for (const auto& [name, results] :
       {std::pair{"access-time", timed_sweep()}, std::pair{"misses", missing_sweep()}}) {
    plot::Options options = to(place / "fig.svg");
    options.script = place / "fig.gp";
    plot::draw(plot::compose(name, results), options);
    std::string first = file_contents(place / "fig.svg");
    const std::string title = "<title>" + plot::compose(name, results).panels[0].title;
    const auto at = first.find(title), end = first.find("</title>");
    BOOST_TEST_REQUIRE(at != std::string::npos); // in place of gnuplot's own
    first.replace(at, end - at, "<title>Gnuplot");
    fs::create_directory(place.folder / "again");
    fs::copy_file(place / "fig.gp", place / "again/fig.gp", fs::copy_options::overwrite_existing);
    process::Spawn spawn;
    spawn.argv = {"gnuplot", "-d", "-e", "cd '" + (place / "again") + "'", place / "again/fig.gp"};
    const auto ran = process::capture(spawn);
    BOOST_TEST(ran.exit.ok(), ran.err);
    BOOST_TEST(ran.err == "");
    BOOST_TEST(first.size() > 1000U);
    BOOST_CHECK(file_contents(place / "again/fig.svg") == first);
  }
}

BOOST_AUTO_TEST_CASE(numbers_are_exact_whatever_the_locale) {
  struct German : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new German));
  const Place place;
  auto results = timed_sweep(1);
  for (auto& o : results.observations) {
    o.accesses = 1;
    o.value = 0.0012345678901234567;
  }
  plot::Options options;
  options.script = place / "fig.gp";
  plot::draw(plot::compose("access-time", results), options);
  std::locale::global(before);
  const auto script = file_contents(place / "fig.gp");
  const double expected = 0.0012345678901234567 * 1e9;
  const auto at = script.find("\n64 ");
  BOOST_TEST_REQUIRE(at != std::string::npos);
  BOOST_TEST(std::strtod(script.c_str() + at + 4, nullptr) == expected);
  BOOST_TEST(script.find("set xrange [0.") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(covered_markers_are_larger_and_bands_end_at_the_axes) {
  plot::Sheet sheet;
  sheet.name = "two";
  plot::Panel& panel = sheet.panels.emplace_back();
  panel.y_decades = true;
  for (const char* label : {"below", "above", "apart"}) {
    plot::Series& series = panel.series.emplace_back();
    series.label = series.compact = label;
    series.band = true;
    const double y = series.label == "apart" ? 50.0 : 1.0;
    series.samples = {{1024, y, y, y}, {2048, 10 * y, -5.0, 1e9}, {4096, 100 * y, y, y}};
  }
  const Place place;
  plot::Options options;
  options.script = place / "fig.gp";
  plot::draw(sheet, options);
  const std::string script = file_contents(place / "fig.gp");
  std::vector<double> sizes;
  static const std::regex marker("lw 1.5 ps ([0-9.]+)"), range("set yrange \\[([0-9.e+-]+):([0-9.e+-]+)"),
      row("\n2048 ([^ ]+) ([^ ]+) ([^ \n]+)");
  for (std::sregex_iterator it(script.begin(), script.end(), marker), end; it != end; ++it)
    sizes.push_back(std::stod((*it)[1]));
  BOOST_TEST_REQUIRE(sizes.size() == 3U);
  BOOST_TEST(sizes[0] > 1.2 * sizes[1]);
  BOOST_TEST(sizes[1] == sizes[2]);
  std::smatch axis;
  BOOST_TEST_REQUIRE(std::regex_search(script, axis, range));
  int rows = 0;
  for (std::sregex_iterator it(script.begin(), script.end(), row), end; it != end; ++it, ++rows) {
    BOOST_TEST(std::stod((*it)[2]) >= std::stod(axis[1]) * (1 - 1e-6));
    BOOST_TEST(std::stod((*it)[3]) <= std::stod(axis[2]) * (1 + 1e-6));
  }
  BOOST_TEST(rows == 3);
}

BOOST_AUTO_TEST_CASE(the_script_takes_the_axes_of_the_layout) {
  const Place place;
  auto results = timed_sweep(1);
  plot::Options options;
  options.script = place / "fig.gp";
  plot::draw(plot::compose("working-set", results), options);
  BOOST_TEST(file_contents(place / "fig.gp").find("unset logscale; set logscale x 2\n") != std::string::npos);
  results.observations.back().value = 1.0;
  plot::draw(plot::compose("working-set", results), options);
  BOOST_TEST(file_contents(place / "fig.gp").find("unset logscale; set logscale x 2; set logscale y 2\n") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_figure_in_the_terminal_is_text_of_that_size) {
  if (!have_gnuplot()) return;
  const auto text = plot::draw_text(plot::compose("access-time", timed_sweep()), {72, 20, false});
  BOOST_TEST(text.find("time per access (ns)") != std::string::npos);
  BOOST_TEST(text.find("64 KiB") != std::string::npos);
  BOOST_TEST(text.find('\x1b') == std::string::npos);
  BOOST_TEST(count(text, "\n") <= 21U);
  BOOST_TEST(plot::draw_text(plot::compose("access-time", timed_sweep()), {72, 20, true}).find('\x1b') !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(missing_gnuplot_names_the_package) {
  const Place place;
  fs::create_directory(place.folder / "bin");
  ::setenv("PATH", (place / "bin").c_str(), 1);
  const auto text =
      failure("access-time", timed_sweep(), to(place / "fig.pdf", plot::Format::pdf), ErrorKind::unavailable);
  BOOST_TEST(text.find("gnuplot") != std::string::npos);
  BOOST_TEST(text.find("apt-get install gnuplot-nox") != std::string::npos);
  BOOST_TEST(place.left().empty());
}

BOOST_AUTO_TEST_CASE(a_gnuplot_that_fails_is_quoted_and_leaves_the_old_file) {
  const Place place;
  std::ofstream(place / "fig.svg") << "old";
  place.fake_gnuplot("cat >/dev/null; echo 'no such terminal' >&2; exit 3");
  const auto text = failure("access-time", timed_sweep(), to(place / "fig.svg"), ErrorKind::unavailable);
  BOOST_TEST(text.find("no such terminal") != std::string::npos);
  BOOST_TEST(text.find("exit status 3") != std::string::npos);
  BOOST_TEST(file_contents(place / "fig.svg") == "old");
  BOOST_TEST(place.left().size() == 1U);
}

BOOST_AUTO_TEST_CASE(gnuplot_that_reads_nothing_is_an_error_without_sigpipe) {
  const Place place;
  place.fake_gnuplot("exec 0<&-; exit 0");
  BOOST_TEST_REQUIRE(std::signal(SIGPIPE, SIG_DFL) != SIG_ERR); // a signal would end this program
  const auto text = failure("access-time", timed_sweep(3), to(place / "fig.svg"), ErrorKind::unavailable);
  BOOST_TEST(text.find("wrote nothing") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_gnuplot_killed_or_writing_nothing_is_an_error) {
  const Place place;
  place.fake_gnuplot("cat >/dev/null; kill -9 $$");
  BOOST_TEST(
      failure("access-time", timed_sweep(), to(place / "fig.svg"), ErrorKind::unavailable).find("SIGKILL") !=
      std::string::npos);
  place.fake_gnuplot("cat >/dev/null");
  BOOST_TEST(failure("access-time", timed_sweep(), to(place / "fig.svg"), ErrorKind::unavailable)
                 .find("gnuplot wrote nothing") != std::string::npos);
  BOOST_TEST(place.left().empty());
}

BOOST_AUTO_TEST_CASE(a_bad_script_fails_though_gnuplot_goes_on) {
  if (!have_gnuplot()) return;
  try {
    plot::run_gnuplot([](auto& gp) { gp << "set terminal dumb\nplot undefined_thing\nprint 'went on'\n"; });
    BOOST_ERROR("taken for success");
  } catch (const Error& error) {
    BOOST_TEST(std::string(error.what()).find("undefined_thing") != std::string::npos);
    BOOST_TEST(std::string(error.what()).find("went on") != std::string::npos);
  }
  BOOST_TEST(plot::run_gnuplot([](auto& gp) { gp << "print 'hello'\n"; }) == "hello");
}

BOOST_AUTO_TEST_CASE(a_figure_does_not_depend_on_the_one_before) {
  if (!have_gnuplot()) return;
  const auto plain = [](auto& gp) { gp << "set terminal dumb 60,12\nplot [0:1] x\n"; };
  const std::string alone = plot::run_gnuplot(plain);
  BOOST_TEST(plot::draw_next(plain) == alone);
  BOOST_TEST(plot::draw_next([](auto& gp) {
               gp << "set terminal dumb 60,12\nset title 'named'\nset yrange [0:2]\nplot [0:1] x\n";
             }).find("named") != std::string::npos);
  BOOST_TEST(plot::draw_next(plain) == alone);
  BOOST_CHECK_THROW(plot::draw_next([](auto& gp) { gp << "plot undefined_thing\n"; }), Error);
  BOOST_TEST(plot::draw_next(plain) == alone);
  BOOST_TEST(plot::draw_next([](auto& gp) { gp << "exit\n"; }).empty()); // gnuplot ends
  BOOST_TEST(plot::draw_next(plain) == alone);
}

BOOST_AUTO_TEST_CASE(full_device_is_an_error) {
  if (!have_gnuplot()) return;
  const auto text = failure("access-time", timed_sweep(), to("/dev/full"), ErrorKind::bad_input);
  BOOST_TEST(text.find("No space left on device") != std::string::npos);
  BOOST_TEST(fs::is_character_file("/dev/full")); // not replaced by a picture
}

BOOST_AUTO_TEST_CASE(a_full_disk_leaves_nothing_half_written) {
  if (!have_gnuplot()) return;
  if (!process::find_program("unshare") || ::geteuid() != 0)
    return test::skip("mounting a small file system needs root and unshare(1)");
  const Place place;
  // gnuplot itself runs into the full disk: 16 KiB hold no PNG of this figure.
  process::Spawn spawn;
  spawn.argv = {"unshare", "-m", process::this_program(), "--run_test=full_disk", "--log_level=message"};
  spawn.environment = {{"RECOUNT_TEST_SMALL_DISK", place.folder.string()}};
  const auto ran = process::capture(spawn);
  // In a chroot, or where namespaces or mounts are forbidden.
  if (ran.err.starts_with("unshare: ") || ran.err.find("SKIP: ") != std::string::npos)
    return test::skip(ran.err);
  BOOST_TEST(ran.exit.ok(), ran.out + ran.err);
}

BOOST_AUTO_TEST_CASE(unwritable_places_are_bad_input) {
  const Place place;
  BOOST_TEST(failure("access-time", timed_sweep(), to(place / "no/fig.svg"), ErrorKind::bad_input)
                 .find("No such file or directory") != std::string::npos);
  BOOST_TEST(
      failure("access-time", timed_sweep(), to(place.folder.string()), ErrorKind::bad_input).find("folder") !=
      std::string::npos);
  auto twice = to(place / "a.svg");
  twice.targets.push_back(twice.targets[0]);
  BOOST_TEST(failure("access-time", timed_sweep(), twice, ErrorKind::bad_input).find("two formats") !=
             std::string::npos);
  auto narrow = to(place / "a.svg");
  narrow.width = 0.5;
  failure("access-time", timed_sweep(), narrow, ErrorKind::bad_input);
}

BOOST_AUTO_TEST_SUITE_END()
