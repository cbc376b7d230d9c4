#include "plot/gnuplot.hpp"
#include "plot/layout.hpp"
#include "plot/plot_output.hpp"
#include "plot/script.hpp"
#include "plot/sheet.hpp"
#include "plot/style.hpp"
#include "process/child.hpp"
#include "process/spawn.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

// Whether the font that figures name is installed.
namespace recount::plot {

/// A warning when fontconfig would take another font in its place, or cannot be asked; nothing when all is
/// well. Starts fc-match(1).
[[nodiscard]] std::optional<std::string> font_warning();

namespace {

/// What is at the end of a whole file of the format.
std::string ending(Format format) {
  switch (format) {
  case Format::pdf: return "%%EOF";
  case Format::svg: return "</svg>";
  case Format::png: return "IEND";
  case Format::tikz: return "\\end{tikzpicture}";
  case Format::cairolatex: return "\\endgroup";
  case Format::dumb: break;
  }
  return "\n";
}

void check(const Options& options) {
  if (!(options.width >= 2 && options.width <= 20))
    throw bad_input(fmt::format("width {}", options.width), "not between 2 and 20 inches",
                    "3.33 for one column of a paper, 7 for two");
  for (const auto& a : options.targets) {
    const auto same = std::count_if(options.targets.begin(), options.targets.end(),
                                    [&](const auto& b) { return a.path == b.path; });
    if (same > 1) throw bad_input(a.path, "two formats have the same output file", "use different names");
  }
}

/// The script draws what was drawn, or an SVG when nothing was.
void save(const Sheet& sheet, const Options& options) {
  std::vector<Drawing> drawings;
  for (const auto& t : options.targets) {
    const auto layout = lay_out(sheet, canvas_of(t.format, options.width));
    drawings.push_back({t.format, std::filesystem::path(t.path).filename().string(), {}, layout, false});
  }
  if (drawings.empty()) {
    const auto name = std::filesystem::path(*options.script).stem().string() + ".svg";
    drawings.push_back({Format::svg, name, {}, lay_out(sheet, canvas_of(Format::svg, options.width)), false});
  }
  save_script(*options.script, sheet, drawings);
}
} // namespace

Drawn draw(const Sheet& sheet, const Options& options) {
  check(options);
  Drawn drawn{{}, sheet.warnings};
  if (options.script) {
    save(sheet, options);
    drawn.files.push_back(*options.script);
  }
  if (options.targets.empty()) return drawn;

  std::vector<std::unique_ptr<Delivery>> deliveries;
  std::vector<Drawing> drawings;
  bool named_font = false;
  for (const auto& t : options.targets) {
    deliveries.push_back(std::make_unique<Delivery>(t.path));
    drawings.push_back({t.format, deliveries.back()->name(), deliveries.back()->folder(),
                        lay_out(sheet, canvas_of(t.format, options.width)), false});
    named_font = named_font || t.format == Format::pdf || t.format == Format::svg || t.format == Format::png;
  }
  const auto said = run_gnuplot([&](auto& gnuplot) { write_script(gnuplot, sheet, drawings); });
  if (!said.empty()) drawn.warnings.push_back("gnuplot: " + said);
  for (std::size_t i = 0; i < deliveries.size(); ++i)
    deliveries[i]->verify(ending(options.targets[i].format));
  for (const auto& delivery : deliveries) {
    const auto paths = delivery->deliver();
    drawn.files.insert(drawn.files.end(), paths.begin(), paths.end());
  }
  if (const auto warning = named_font ? font_warning() : std::nullopt) drawn.warnings.push_back(*warning);
  return drawn;
}

std::string draw_text(const Sheet& sheet, TextSize size) {
  size.columns = std::clamp(size.columns, 40L, 400L);
  size.rows = std::clamp(size.rows, 12L, 200L);
  const Delivery delivery((std::filesystem::temp_directory_path() / "figure.txt").string());
  const Drawing drawing{Format::dumb, delivery.name(), delivery.folder(),
                        lay_out(sheet, canvas_of(Format::dumb, 0, size)), size.colour};
  run_gnuplot([&](auto& gnuplot) { write_script(gnuplot, sheet, {drawing}); });
  delivery.verify("\n");
  return file_contents(delivery.draft());
}

// Whether gnuplot could draw a format: asked before something is measured for it.

void check_drawable(Format format) {
  Layout layout;
  layout.width = 240;
  layout.height = 160;
  run_gnuplot([&](auto& gp) { gp << "set terminal " << terminal(format, layout, false) << "\n"; });
}

std::optional<std::string> font_warning() {
  const std::string name(font.text());
  const std::string remedy = " (Debian: apt-get install fonts-liberation)";
  if (!process::find_program("fc-match"))
    return "cannot check whether the font " + name + " is installed: fc-match not found" + remedy;
  process::Spawn spawn;
  spawn.argv = {"fc-match", "-f", "%{family[0]}", name};
  try {
    const auto answer = process::capture(spawn, {}, std::chrono::seconds(20));
    if (!answer.exit.ok())
      return "fc-match fails for the font " + name + ": " + process::describe(answer.exit);
    if (answer.out == name) return {};
    return "the font " + name + " is missing, " + answer.out + " is used instead, and labels may not fit" +
           remedy;
  } catch (const Error& error) {
    return std::string(error.what());
  }
}

} // namespace recount::plot
