#include "show/plot/layout.hpp"

#include "base/text.hpp"
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace recount::plot {
namespace {

constexpr const char* joint = "; "; // of the pieces of a caption

/// Advance widths of ASCII 32 to 126 in 1/100 em, as in the AFM file of Helvetica that the font follows.
constexpr std::array<unsigned char, 95> advance{
    28, 28, 36, 56, 56, 89, 67, 19, 33,  33, 39, 58, 28, 33, 28, 28, 56, 56, 56, 56, 56, 56, 56, 56,
    56, 56, 28, 28, 58, 58, 58, 56, 102, 67, 67, 72, 72, 67, 61, 78, 72, 28, 50, 67, 56, 83, 72, 78,
    67, 78, 72, 67, 61, 72, 67, 94, 67,  67, 61, 28, 28, 28, 47, 56, 33, 56, 56, 50, 56, 56, 28, 56,
    56, 22, 22, 50, 22, 83, 56, 56, 56,  56, 33, 50, 28, 56, 50, 72, 50, 50, 50, 33, 26, 33, 58};

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}
} // namespace

double text_width(std::string_view text, double size) {
  int sum = 0;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (begins_character(c)) sum += code >= 32 && code < 127 ? advance[code - 32U] : 56;
  }
  return sum * size / 100.0;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::vector<std::string> wrap(const std::vector<std::string>& pieces, double width,
                              const std::function<double(std::string_view)>& wide) {
  std::vector<std::string> lines;
  for (const auto& piece : pieces) {
    if (piece.empty()) continue;
    if (!lines.empty() && wide(lines.back() + joint + piece) <= width)
      lines.back() += joint + piece;
    else
      lines.push_back(piece);
    for (std::size_t end = 0;
         wide(lines.back()) > width && (end = lines.back().rfind(' ')) != std::string::npos;) {
      while (wide(std::string_view(lines.back()).substr(0, end)) > width &&
             lines.back().rfind(' ', end - 1) != std::string::npos)
        end = lines.back().rfind(' ', end - 1);
      const std::string rest = lines.back().substr(end + 1);
      lines.back().resize(end);
      lines.push_back(rest);
    }
  }
  return lines;
}

namespace {

struct Grid {
  std::size_t columns = 1, rows = 1;
};

/// At most one line: the pieces that fit, in order; the first one without its last words if it is too wide.
std::vector<std::string> in_one_line(const std::vector<std::string>& pieces, double width,
                                     const Canvas& canvas) {
  std::string line;
  for (std::string piece : pieces) {
    while (line.empty() && canvas.wide(piece) > width && piece.rfind(' ') != std::string::npos)
      piece.resize(piece.rfind(' '));
    if (line.empty())
      line = piece;
    else if (!piece.empty() && canvas.wide(line + joint + piece) <= width)
      line += joint + piece;
  }
  return line.empty() ? std::vector<std::string>{} : std::vector{line};
}

/// Two panels fit side by side on the width of a page; on that of a column they are stacked.
Grid make_grid(std::size_t panels, const Canvas& canvas) {
  const std::size_t columns = !canvas.cells && canvas.width >= 400 && panels > 1 ? 2 : 1;
  return {columns, (panels + columns - 1) / columns};
}

/// `strips`: panels over the same linear axis, one above the other.
double panel_height(const Canvas& canvas, const Grid& grid, bool strips) {
  const double width = canvas.width / static_cast<double>(grid.columns);
  if (strips) return std::clamp(width * 0.36, 80.0, 120.0);
  const double wanted = grid.rows > 1 ? std::min(width * 0.58, 200.0) : std::min(width * 0.66, 250.0);
  return std::max(wanted, 110.0); // space for a short key
}
} // namespace

double Canvas::wide(std::string_view text) const {
  return cells ? 4.0 * static_cast<double>(characters(text))
               : text_width(text, text_size) * (tex ? 1.13 : 1.0);
}

Layout lay_out(const Sheet& sheet, const Canvas& canvas) {
  const bool strips = sheet.panels.front().x_along == Panel::Along::linear;
  const Grid grid = strips ? Grid{1, sheet.panels.size()} : make_grid(sheet.panels.size(), canvas);
  Layout layout;
  layout.width = canvas.width;
  layout.caption =
      canvas.cells || sheet.caption_is_key
          ? wrap(sheet.caption, canvas.width - 8, [&](std::string_view t) { return canvas.wide(t); })
          : in_one_line(sheet.caption, canvas.width - 8, canvas);
  const double caption_height =
      canvas.tall() * static_cast<double>(layout.caption.size()) + (canvas.cells ? 0 : 3);
  const auto rows = static_cast<double>(grid.rows), columns = static_cast<double>(grid.columns);
  const bool of_rows = sheet.panels.size() == 1 && !sheet.panels.front().rows.empty();
  const double each = of_rows             ? rows_height(sheet.panels.front(), canvas)
                      : canvas.height > 0 ? std::floor((canvas.height - caption_height) / rows)
                                          : panel_height(canvas, grid, strips);
  layout.height = canvas.height > 0 && !of_rows ? canvas.height : each * rows + caption_height;
  layout.caption_top = caption_height - (canvas.cells ? 0 : 1);
  const auto draw_up = [&](bool key, const Margins& least = {}) {
    layout.panels.clear();
    Margins widest;
    for (std::size_t i = 0; i < sheet.panels.size(); ++i) {
      const auto at_row = i / grid.columns;
      const auto column = static_cast<double>(i % grid.columns), row = static_cast<double>(at_row);
      const double left = column * canvas.width / columns, top = layout.height - row * each;
      const Box cell{left, top - each, left + canvas.width / columns, top};
      const Box& plot =
          layout.panels.emplace_back(make_panel_look(sheet.panels, i, cell, canvas, key, least)).plot;
      widest = {std::max(widest.left, plot.left - cell.left), std::max(widest.right, cell.right - plot.right),
                grid.columns > 1 ? std::max(widest.top, cell.top - plot.top) : 0};
    }
    return widest;
  };
  const auto labelled = [&] { return std::ranges::all_of(layout.panels, &PanelLook::labelled); };
  if (of_rows) {
    const Box cell{0, caption_height, canvas.width, layout.height};
    layout.panels = {make_rows_look(sheet.panels.front(), cell, canvas)};
    return layout;
  }
  // Panels side by side or stacked are read together: they are aligned, and a key in one means a key in all.
  Margins widest = draw_up(false);
  const bool key = !labelled();
  if (key) widest = draw_up(true);
  if (sheet.panels.size() > 1) draw_up(key, widest);
  if (!key && !labelled()) draw_up(true, draw_up(true)); // labels that do not fit the aligned plots
  return layout;
}

double Axis::place(double value) const {
  if (log2) return (std::log2(value) - std::log2(low)) / (std::log2(high) - std::log2(low));
  return (value - low) / (high - low);
}

Axis linear_axis(double low, double high, int wanted) {
  if (!(high > low)) high = low + 1;
  const double rough = (high - low) / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double nice : {1.0, 2.0, 5.0}) {
    if (nice * power >= rough * 0.999) {
      step = nice * power;
      break;
    }
  }
  Axis axis{low, high, false, {}};
  const int decimals = std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 12);
  for (auto i = static_cast<long>(std::ceil(low / step - 1e-9));
       static_cast<double>(i) * step <= high * (1 + 1e-9); ++i)
    axis.tics.push_back(
        {static_cast<double>(i) * step, fmt::format("{:.{}f}", static_cast<double>(i) * step, decimals)});
  return axis;
}

Axis decades_axis(double low, double high) {
  if (!(high > low)) high = low * 10;
  Axis axis{low, high, true, {}};
  const bool few = high / low < 200;
  for (int power = static_cast<int>(std::floor(std::log10(low))); power <= std::log10(high); ++power)
    for (const double step : {1.0, 2.0, 5.0}) {
      const double at = step * std::pow(10.0, power);
      if (at < low || at > high || (step > 1 && !few)) continue;
      std::string text = fmt::format("{:g}", at);
      if (const auto plus = text.find("e+0"); plus != text.npos) text.replace(plus, 3, "e"); // 1e6
      axis.tics.push_back({at, std::move(text)});
    }
  return axis;
}

Axis settings_axis(std::vector<double> values, double length, double gap,
                   const std::function<double(const std::string&)>& wide) {
  constexpr double max_on_linear = 3;
  std::ranges::sort(values);
  const double least = values.front(), most = values.back();
  Axis axis{least, most, most > max_on_linear * least && least > 0, {}};
  if (axis.log2) {
    axis.low = least / std::pow(most / least, 0.03);
    axis.high = most * std::pow(most / least, 0.03);
  } else {
    const double margin = most > least ? 0.03 * (most - least) : 0.5;
    axis.low -= margin;
    axis.high += margin;
  }
  // The ends first, then what fits between them.
  std::vector<double> order{least, most};
  order.insert(order.end(), values.rbegin(), values.rend());
  for (const double at : order) {
    const std::string text = fmt::format("{:g}", at);
    const bool fits = std::ranges::all_of(axis.tics, [&](const Tic& other) {
      return std::abs(axis.place(at) - axis.place(other.at)) * length >=
             (wide(text) + wide(other.text)) / 2 + gap;
    });
    if (fits) axis.tics.push_back({at, text});
  }
  std::ranges::sort(axis.tics, {}, &Tic::at);
  return axis;
}

Axis log2_axis(double low, double high, double length, double gap,
               const std::function<std::string(double)>& name,
               const std::function<double(const std::string&)>& wide) {
  Axis axis{low, high, true, {}};
  if (!(high > low)) {
    axis.low = low / 2;
    axis.high = low * 2;
  }
  const int first = static_cast<int>(std::ceil(std::log2(axis.low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log2(axis.high) + 1e-9));
  for (int every = 1;; ++every) {
    axis.tics.clear();
    double right = -1e9; // where the text before ends
    bool fits = true;
    // Even powers of the step, so that 4 KiB, 64 KiB, 1 MiB come back in every figure.
    for (int p = first; p <= last; ++p) {
      if (((p % every) + every) % every != 0) continue;
      const double at = std::exp2(p);
      const std::string text = name(at);
      const double centre = axis.place(at) * length, half = wide(text) / 2;
      fits = fits && centre - half >= right + gap;
      right = centre + half;
      axis.tics.push_back({at, text});
    }
    if (fits || every > last - first) break;
  }
  return axis;
}

namespace {

/// A place considered for one label, the lower the cost the better.
struct Candidate {
  Placed placed;
  double cost = 0;
};

double to_line(const std::vector<Vec>& line, const Box& b) {
  if (line.size() == 1) return distance(line[0], b);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < line.size(); ++i)
    least = std::min(least, distance(line[i - 1], line[i], b));
  return least;
}

/// The end of a leader from `anchor`: the side of the box that faces it.
double leader_end(const Box& box, Vec anchor) {
  return box.bottom > anchor.y ? box.bottom : box.top;
}

bool leader_crosses(const Placed& a, const Box& box) {
  return a.leader && crosses(*a.leader, {a.leader->x, leader_end(a.box, *a.leader)}, box);
}

/// Depth-first with the most constrained label first; gives up after a fixed number of steps.
class LabelSearch {
public:
  LabelSearch(const std::vector<Labelled>& curves, const Field& field)
      : curves_(curves), field_(field), order_(curves.size()), chosen_(curves.size()) {
    for (std::size_t i = 0; i < curves.size(); ++i)
      all_.push_back(curves[i].line.empty() ? std::vector<Candidate>() : candidates(i));
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return all_[i].size(); });
  }

  bool place(std::size_t depth = 0) {
    if (depth == order_.size()) return true;
    const std::size_t self = order_[depth];
    for (const auto& candidate : all_[self]) {
      if (++steps_ > 200000) return false;
      if (!free(candidate, self)) continue;
      chosen_[self] = &candidate;
      if (place(depth + 1)) return true;
      chosen_[self] = nullptr;
    }
    return false;
  }

  /// Moves one label at a time to a cheaper free place until none can be.
  std::vector<Placed> improved() {
    bool moved = true;
    for (int round = 0; moved && round < 10; ++round) {
      moved = false;
      for (const std::size_t i : order_) {
        const auto better = std::ranges::find_if(
            all_[i], [&](const auto& c) { return c.cost >= chosen_[i]->cost || free(c, i); });
        if (better == all_[i].end() || better->cost >= chosen_[i]->cost) continue;
        chosen_[i] = &*better;
        moved = true;
      }
    }
    return base::mapped(chosen_, [](const auto* c) { return c->placed; });
  }

private:
  /// How much nearer the own line must be than any other, in points.
  static constexpr double clear = 1.5;

  [[nodiscard]] bool together(std::size_t i, std::size_t self) const {
    return i == self || (curves_[i].group != 0 && curves_[i].group == curves_[self].group);
  }

  [[nodiscard]] bool near_other(std::size_t self, const Box& box, double gap) const {
    for (std::size_t i = 0; i < curves_.size(); ++i)
      if (!together(i, self) && to_line(curves_[i].line, box) <= gap) return true;
    return false;
  }

  /// Nothing when the box is on something. Does not depend on where the other labels go.
  [[nodiscard]] std::optional<double> cost(std::size_t self, const Box& box, Vec anchor, bool leader) const {
    if (!inside(box, field_.area)) return {};
    for (const auto& taken : field_.taken)
      if (overlap(grown(box, field_.gap), taken)) return {};
    double own = 1e9, other = 1e9;
    for (std::size_t i = 0; i < curves_.size(); ++i) {
      double near = to_line(curves_[i].line, box);
      if (near < field_.gap) return {};
      for (const Vec& p : curves_[i].line)
        near = std::min(near, std::max(0.0, distance(p, box) - field_.marker));
      if (near < field_.gap * 0.5) return {};
      double& least = together(i, self) ? own : other;
      least = std::min(least, near);
    }
    // What the label belongs to must be plain: its own line is the nearest by far enough, or a leader ends
    // where no other line is.
    if (!leader) return other < own + clear ? std::nullopt : std::optional(40 / (1 + other - own));
    const double end = leader_end(box, anchor);
    const Box stem{anchor.x - 0.5, std::min(anchor.y, end), anchor.x + 0.5, std::max(anchor.y, end)};
    const double least = std::nextafter(field_.marker + clear, 0);
    if (near_other(self, box_around(anchor, 0, 0), least) || near_other(self, stem, 0)) return {};
    return 25 + std::abs(end - anchor.y);
  }

  /// Places at the points of the line and in the middles between; the later ones are preferred.
  [[nodiscard]] std::vector<Candidate> candidates(std::size_t self) const {
    const auto& curve = curves_[self];
    const auto& line = curve.line;
    if (!curve.named) return {{{box_around(line.front(), 0, 0), {}}, 0}};
    const double off = field_.marker + field_.gap, w = curve.width, h = curve.height;
    std::vector<Candidate> list;
    const auto consider = [&](Vec anchor, Vec centre, bool leader, double extra) {
      const Box box = box_around(centre, w, h);
      if (const auto own = cost(self, box, anchor, leader))
        list.push_back({{box, leader ? std::optional<Vec>(anchor) : std::nullopt}, *own + extra});
    };
    const auto consider_around = [&](Vec at, double extra) {
      if (at.x == line.back().x && at.y == line.back().y)
        consider(at, {at.x + off + w / 2, at.y}, false, extra - 8);
      if (at.x == line.front().x) consider(at, {at.x - off - w / 2, at.y}, false, extra);
      for (const double side : {1.0, -1.0}) {
        for (const double shift : {0.0, 0.5, -0.5, 0.25, -0.25})
          consider(at, {at.x + shift * (w + off), at.y + side * (off + h / 2)}, false,
                   extra + 2 * std::abs(shift));
        for (int tier = 1; tier <= 6; ++tier)
          for (const double shift : {0.0, 0.35, -0.35})
            consider(at, {at.x + shift * w, at.y + side * (off + h / 2 + tier * 0.75 * (h + field_.gap))},
                     true, extra + 2 * std::abs(shift));
      }
    };
    const std::size_t last = line.size() - 1;
    for (std::size_t i = 0; i <= last; ++i) {
      const double from_end = last == 0 ? 0 : static_cast<double>(last - i) / static_cast<double>(last);
      consider_around(line[i], 6 * from_end);
      if (i < last)
        consider_around({(line[i].x + line[i + 1].x) / 2, (line[i].y + line[i + 1].y) / 2}, 6 * from_end + 1);
    }
    std::ranges::stable_sort(list, {}, &Candidate::cost);
    if (list.size() > 400) list.resize(400);
    return list;
  }

  [[nodiscard]] bool free(const Candidate& candidate, std::size_t self) const {
    const Placed& a = candidate.placed;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (i == self || !chosen_[i]) continue;
      const Placed& b = chosen_[i]->placed;
      const Box wide = grown(b.box, field_.gap);
      if (overlap(a.box, wide) || leader_crosses(a, wide) || leader_crosses(b, grown(a.box, field_.gap)))
        return false;
    }
    return true;
  }

  const std::vector<Labelled>& curves_;
  const Field& field_;
  std::vector<std::vector<Candidate>> all_; ///< of each curve
  std::vector<std::size_t> order_;
  std::vector<const Candidate*> chosen_;
  int steps_ = 0;
};
} // namespace

std::optional<std::vector<Placed>> place_labels(const std::vector<Labelled>& curves, const Field& field) {
  LabelSearch search(curves, field);
  if (!search.place()) return {};
  return search.improved();
}

Box box_around(Vec centre, double width, double height) {
  return {centre.x - width / 2, centre.y - height / 2, centre.x + width / 2, centre.y + height / 2};
}

Box grown(const Box& b, double by) {
  return {b.left - by, b.bottom - by, b.right + by, b.top + by};
}

bool inside(const Box& a, const Box& of) {
  return a.left >= of.left && a.right <= of.right && a.bottom >= of.bottom && a.top <= of.top;
}

double distance(Vec p, const Box& b) {
  const double dx = std::max({b.left - p.x, 0.0, p.x - b.right});
  const double dy = std::max({b.bottom - p.y, 0.0, p.y - b.top});
  return std::hypot(dx, dy);
}

bool overlap(const Box& a, const Box& b) {
  return a.left < b.right && b.left < a.right && a.bottom < b.top && b.bottom < a.top;
}

bool crosses(Vec a, Vec b, const Box& box) {
  double from = 0, to = 1; // the part of the segment inside the slabs (Liang and Barsky 1984)
  const auto clip = [&](double start, double delta, double low, double high) {
    if (delta == 0) return start >= low && start <= high;
    const double t0 = (low - start) / delta, t1 = (high - start) / delta;
    from = std::max(from, std::min(t0, t1));
    to = std::min(to, std::max(t0, t1));
    return from <= to;
  };
  return clip(a.x, b.x - a.x, box.left, box.right) && clip(a.y, b.y - a.y, box.bottom, box.top);
}

double distance(Vec a, Vec b, const Box& box) {
  if (crosses(a, b, box)) return 0;
  double least = std::min(distance(a, box), distance(b, box));
  const double dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy;
  if (square == 0) return least;
  for (const Vec corner : {Vec{box.left, box.bottom}, Vec{box.left, box.top}, Vec{box.right, box.bottom},
                           Vec{box.right, box.top}}) {
    const double t = std::clamp(((corner.x - a.x) * dx + (corner.y - a.y) * dy) / square, 0.0, 1.0);
    least = std::min(least, std::hypot(a.x + t * dx - corner.x, a.y + t * dy - corner.y));
  }
  return least;
}

Canvas make_canvas(Format format, double inches, TextSize text) {
  if (format != Format::dumb) return {inches * 72, 0, false, is_tex(format)};
  return {4.0 * static_cast<double>(text.columns), 8.0 * static_cast<double>(text.rows), true, false};
}

GnuplotCode terminal(Format format, const Layout& layout, bool colour) {
  const double w = layout.width / 72, h = layout.height / 72;
  // Factors found by laying the formats over one another: lines of 0.75 pt, markers of 3 pt in all of them.
  // The cairo terminals take a point of text as 1/96 in and everything else as 1/72 in: hence 3/4.
  switch (format) {
  case Format::pdf:
    return code("pdfcairo noenhanced size {:.3f}in,{:.3f}in font '{},{}' fontscale 0.75", w, h, font,
                text_size);
  case Format::png:
    return code("pngcairo noenhanced size {:.0f},{:.0f} font '{},{}' fontscale {:.4f} linewidth {:.4f} "
                "pointscale {:.4f}",
                w * 300, h * 300, font, text_size, 0.75 * 300 / 72, 0.6 * 300 / 72, 0.85 * 300 / 72);
  case Format::svg:
    return code("svg noenhanced size {:.0f},{:.0f} fixed background 'white' font '{},{}' fontscale {:.4f} "
                "linewidth {:.4f}",
                w * 96, h * 96, font, text_size, 96 / 72.0, 0.6 * 96 / 72);
  case Format::tikz: return code("tikz size {:.3f}in,{:.3f}in font ',{}'", w, h, text_size);
  case Format::cairolatex:
    return code("cairolatex pdf colortext size {:.3f}in,{:.3f}in "
                "header '\\fontsize{{{}}}{{8.4}}\\selectfont'",
                w, h, text_size);
  case Format::dumb: break;
  }
  return code("dumb noenhanced size {:.0f},{:.0f} {}", layout.width / 4, layout.height / 8,
              colour ? Literal("ansi256") : Literal("mono"));
}

double marker_scale(Format format) {
  if (format == Format::svg) return 1.9;
  return format == Format::tikz ? 2.0 : 1.0;
}

} // namespace recount::plot
