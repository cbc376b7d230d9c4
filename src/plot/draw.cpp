#include "plot/gnuplot.hpp"
#include "plot/layout.hpp"
#include "plot/plot_output.hpp"
#include "plot/script.hpp"
#include "plot/sheet.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

namespace recount::plot {
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
  for (const auto& a : options.targets)
    if (std::ranges::count(options.targets, a.path, &Target::path) > 1)
      throw bad_input(a.path, "two formats have the same output file", "use different names");
}

/// The script draws the targets, or an SVG where there is none.
void save(const Sheet& sheet, const Options& options) {
  auto targets = options.targets;
  if (targets.empty())
    targets = {{Format::svg, std::filesystem::path(*options.script).stem().string() + ".svg"}};
  std::vector<Drawing> drawings;
  for (const auto& t : targets)
    drawings.push_back({t.format,
                        std::filesystem::path(t.path).filename().string(),
                        {},
                        lay_out(sheet, canvas_of(t.format, options.width)),
                        false});
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
  for (const auto& t : options.targets) {
    deliveries.push_back(std::make_unique<Delivery>(t.path));
    drawings.push_back({t.format, deliveries.back()->name(), deliveries.back()->folder(),
                        lay_out(sheet, canvas_of(t.format, options.width)), false});
  }
  const auto output = run_gnuplot([&](auto& gnuplot) { write_script(gnuplot, sheet, drawings); });
  if (!output.empty()) drawn.warnings.push_back("gnuplot: " + output);
  for (std::size_t i = 0; i < deliveries.size(); ++i)
    deliveries[i]->verify(ending(options.targets[i].format));
  for (const auto& delivery : deliveries) {
    const auto paths = delivery->deliver();
    drawn.files.insert(drawn.files.end(), paths.begin(), paths.end());
  }
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

void check_drawable(Format format) {
  Layout layout;
  layout.width = 240;
  layout.height = 160;
  run_gnuplot([&](auto& gp) { gp << "set terminal " << terminal(format, layout, false) << "\n"; });
}

} // namespace recount::plot
