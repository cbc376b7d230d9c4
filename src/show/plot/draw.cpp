#include "base/output_file.hpp"
#include "base/process/fd.hpp"
#include "base/text.hpp"
#include "show/plot/gnuplot.hpp"
#include "show/plot/layout.hpp"
#include "show/plot/sheet.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

namespace recount::plot {
namespace {
namespace fs = std::filesystem;

/// A temporary folder next to an output file, in which the file is drawn before it gets its name. Whatever
/// is left in it goes with the object. A path that is no regular file (a terminal, a pipe, /dev/full), and
/// "-" for stdout, is drawn in the folder for temporary files and written into.
class Delivery {
public:
  /// Throws recount::Error: bad_input when the path is a folder, else as host::cannot_write().
  explicit Delivery(const std::string& path) : shown_(path) {
    if (path.empty()) throw bad_input("(empty path)", "no file to write");
    std::error_code none;
    const auto kind = fs::status(path, none);
    to_stdout_ = path == "-";
    into_ = to_stdout_ || (fs::exists(kind) && !fs::is_regular_file(kind));
    target_ = to_stdout_ ? fs::path("figure") : fs::absolute(path, none);
    if ((fs::is_directory(kind) && !to_stdout_) || !target_.has_filename())
      throw bad_input(path, "is a folder", "name a file in it");
    if (!into_) target_ = base::follow_links(target_); // the link stays
    const fs::path parent = into_ ? fs::temp_directory_path(none) : target_.parent_path();
    std::string pattern = (into_ && none ? fs::path("/tmp") : parent) / ".recount-figure-XXXXXX";
    if (!::mkdtemp(pattern.data())) throw base::cannot_write(path, errno);
    folder_ = pattern;
  }
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;
  ~Delivery() {
    std::error_code none;
    fs::remove_all(folder_, none);
  }

  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Of the file, without a folder.
  [[nodiscard]] std::string name() const { return target_.filename().string(); }
  [[nodiscard]] std::string draft() const { return folder_ + "/" + name(); }
  /// Throws recount::Error when the draft is missing, empty, or lacks `ending` near its end: as
  /// host::cannot_write() when the disk is full, else unavailable.
  void verify(const std::string& ending) const {
    const std::string bytes = base::read_file(draft()).value_or("");
    if (!bytes.empty() &&
        bytes.find(ending, bytes.size() - std::min<std::size_t>(bytes.size(), 256)) != std::string::npos)
      return;
    // gnuplot does not check its writes: the space that is left tells a full disk from a failure of gnuplot.
    constexpr std::uintmax_t full = 64 * 1024;
    std::error_code unknown;
    const auto space = fs::space(folder_, unknown);
    if (!unknown && space.available < full) throw base::cannot_write(shown_, ENOSPC);
    throw unavailable(shown_, bytes.empty() ? "gnuplot wrote nothing" : "gnuplot wrote only part of it");
  }
  /// Throws host::cannot_write().
  template <class Edit>
  void edit(const Edit& edited) const {
    if (!base::write_file(draft(), edited(base::read_file(draft()).value_or(""))))
      throw base::cannot_write(shown_, errno);
  }
  /// Moves all that was drawn to its place, the file itself last; returns the paths. Throws
  /// host::cannot_write().
  std::vector<std::string> deliver() const {
    if (into_) {
      const process::Fd file(to_stdout_ ? -1 : ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
      if (!to_stdout_ && !file) throw base::cannot_write(shown_, errno);
      if (!process::write_all(to_stdout_ ? STDOUT_FILENO : file.get(), base::read_file(draft()).value_or("")))
        throw base::cannot_write(shown_, errno);
      return {shown_};
    }
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const auto file = entry.path().filename();
      if (file == target_.filename()) continue;
      const auto to = target_.parent_path() / file;
      if (std::rename(entry.path().c_str(), to.c_str()) != 0) throw base::cannot_write(to.string(), errno);
      paths.push_back((fs::path(shown_).parent_path() / file).string());
    }
    if (std::rename(draft().c_str(), target_.c_str()) != 0) throw base::cannot_write(shown_, errno);
    paths.insert(paths.begin(), shown_);
    return paths;
  }

private:
  std::filesystem::path target_;
  std::string folder_, shown_;
  bool into_ = false;      ///< the target is written into, not replaced
  bool to_stdout_ = false; ///< the path was "-"
};

/// As text of XML.
std::string xml_text(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

/// In place of gnuplot's own title, the panels of the figure: viewers and screen readers show it. The titles
/// are text without controls, as gnuplot was given them.
std::string with_title(std::string svg, const Sheet& sheet) {
  constexpr std::string_view of_gnuplot = "<title>Gnuplot</title>";
  const auto at = svg.find(of_gnuplot);
  if (at == std::string::npos) return svg;
  std::vector<std::string> titles;
  for (const Panel& panel : sheet.panels)
    if (const std::string text = base::printable(panel.title);
        !text.empty() && std::ranges::find(titles, text) == titles.end())
      titles.push_back(text);
  const std::string title = titles.empty() ? sheet.name : fmt::format("{}", fmt::join(titles, "; "));
  return svg.replace(at, of_gnuplot.size(), "<title>" + xml_text(title) + "</title>");
}

/// What is at the end of a whole file of the format.
std::string ending(Format format) {
  constexpr const char* endings[] = {"%%EOF", "</svg>", "IEND", "\\end{tikzpicture}", "\\endgroup", "\n"};
  return endings[static_cast<std::size_t>(format)];
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
                        lay_out(sheet, make_canvas(t.format, options.width)),
                        false});
  const Delivery delivery(*options.script);
  const auto text = script_text([&](auto& gnuplot) { write_script(gnuplot, sheet, drawings); });
  if (!base::write_file(delivery.draft(), text)) throw base::cannot_write(*options.script, errno);
  delivery.deliver();
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
                        lay_out(sheet, make_canvas(t.format, options.width)), false});
  }
  const auto output = run_gnuplot([&](auto& gnuplot) { write_script(gnuplot, sheet, drawings); });
  if (!output.empty()) drawn.warnings.push_back("gnuplot: " + output);
  for (std::size_t i = 0; i < deliveries.size(); ++i)
    deliveries[i]->verify(ending(options.targets[i].format));
  for (std::size_t i = 0; i < deliveries.size(); ++i)
    if (options.targets[i].format == Format::svg)
      deliveries[i]->edit([&](std::string svg) { return with_title(std::move(svg), sheet); });
  for (const auto& delivery : deliveries) {
    const auto paths = delivery->deliver();
    drawn.files.insert(drawn.files.end(), paths.begin(), paths.end());
  }
  return drawn;
}

std::string draw_text(const Sheet& sheet, TextSize size) {
  size.columns = std::clamp(size.columns, 40L, 400L);
  size.rows = std::clamp(size.rows, 12L, 200L);
  const Delivery delivery("-");
  const Drawing drawing{Format::dumb, delivery.name(), delivery.folder(),
                        lay_out(sheet, make_canvas(Format::dumb, 0, size)), size.colour};
  run_gnuplot([&](auto& gnuplot) { write_script(gnuplot, sheet, {drawing}); });
  delivery.verify("\n");
  return base::read_file(delivery.draft()).value_or("");
}

void check_drawable(Format format) {
  Layout layout;
  layout.width = 240;
  layout.height = 160;
  run_gnuplot([&](auto& gp) { gp << "set terminal " << terminal(format, layout, false) << "\n"; });
}

// One curve over time as text.
namespace {
/// Steps: a rate holds for the whole of its interval. A blank line breaks the curve.
GnuplotCode live_data(const LiveCurve& curve) {
  GnuplotCode text("$rate << EOD\n");
  for (const LivePoint& p : curve.points)
    text += std::isfinite(p.value)
                ? code("{:.17g} {:.17g}\n{:.17g} {:.17g}\n", p.begin, p.value, p.end, p.value)
                : GnuplotCode("\n");
  return text + Literal("EOD\n");
}

/// Without the lines at the start that show nothing: gnuplot reserves them for a title.
std::string without_blank_head(const std::string& text) {
  std::size_t begin = 0;
  bool escape = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') begin = i + 1;
    if (c == '\033') escape = true;
    if (!escape && c != ' ' && c != '\n' && c != '\f') return text.substr(begin);
    if (c == 'm') escape = false;
  }
  return {};
}

bool has_values(const LiveCurve& curve) {
  return std::ranges::any_of(curve.points, [](const LivePoint& p) { return std::isfinite(p.value); });
}
} // namespace

std::string draw_live(const LiveCurve& curve, TextSize size) {
  std::string text = draw_next([&](GnuplotWriter& gp) {
    gp << code("set terminal dumb noenhanced size {},{} {}\n", std::clamp(size.columns, 30L, 400L),
               std::clamp(size.rows, 8L, 200L), size.colour ? Literal("ansi256") : Literal("mono"));
    gp << "set encoding utf8\nunset key\nset title " << plot::quoted(curve.title) << "\n";
    gp << code("set xrange [{:.17g}:{:.17g}]\nset yrange [0:*]\nset tics nomirror out\nset border 3\n",
               curve.from, curve.to > curve.from ? curve.to : curve.from + 1);
    for (const LiveMark& mark : curve.marks) {
      gp << code("set arrow from {0:.17g}, graph 0 to {0:.17g}, graph 0.95 nohead lt 2\n", mark.time);
      if (!mark.label.empty())
        gp << "set label " << plot::quoted(mark.label)
           << code(" at {:.17g}, graph 1 left offset 2,0 tc lt 2\n", mark.time);
    }
    if (has_values(curve))
      gp << live_data(curve) << "plot $rate using 1:2 with lines lt 1\n";
    else
      gp << "set yrange [0:1]\nplot NaN notitle\n";
  });
  return without_blank_head(text) + "\n";
}

} // namespace recount::plot
