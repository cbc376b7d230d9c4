#include "show/plot/layout.hpp"

#include <range/v3/range/conversion.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace recount::plot {
namespace {

constexpr int line_of_perf = 1, line_of_papi = 2;
constexpr double offset_in_row = 0.17; // perf above, PAPI below the middle, so that equal marks both show
constexpr Literal grey_bar = "'#DDDDDD'";

using Witness = std::optional<Share> ShareRow::*;

/// A data block of a panel of rows, and how it is drawn.
struct RowBlock {
  Literal name;
  std::vector<DataRow> points;
  Literal letter; ///< in text
  int line;
};

/// The middle of the i-th row from the top.
double row_height(std::size_t i, std::size_t rows) {
  return static_cast<double>(rows - i) - 0.5;
}

std::vector<DataRow> points(const std::vector<ShareRow>& rows, const RowsLook& look, Witness witness,
                            double offset) {
  std::vector<DataRow> all;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (const auto& share = rows[i].*witness)
      all.push_back({look.x(share->value), row_height(i, rows.size()) + offset, look.x(share->low),
                     look.x(share->high), share->value});
  return all;
}

std::vector<DataRow> expected_points(const std::vector<ShareRow>& rows, const RowsLook& look) {
  std::vector<DataRow> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Share& s = rows[i].stated;
    // A value that must be met exactly is drawn 3 % wide.
    all.push_back({1, row_height(i, rows.size()), std::max(std::min(s.low, 0.985), look.below),
                   std::min(std::max(s.high, 1.015), look.above), s.value});
  }
  return all;
}

/// In text one mark in a cell would hide the other: rows with both at one place, or the others.
std::vector<ShareRow> with_equal(std::vector<ShareRow> rows, bool equal) {
  for (ShareRow& row : rows) {
    const bool near = row.perf && row.papi &&
                      std::abs(row.perf->value - row.papi->value) <= 0.01 * std::abs(row.perf->value);
    if (near != equal) row.perf = row.papi = std::nullopt;
  }
  return rows;
}

/// Those that have points: gnuplot rejects an empty block.
std::vector<RowBlock> row_blocks(const std::vector<ShareRow>& rows, const RowsLook& look, bool text) {
  std::vector<RowBlock> all;
  if (text) {
    const auto equal = with_equal(rows, true), different = with_equal(rows, false);
    all = {{"perfalone", points(different, look, &ShareRow::perf, 0), "o", line_of_perf},
           {"papialone", points(different, look, &ShareRow::papi, 0), "x", line_of_papi},
           {"equal", points(equal, look, &ShareRow::perf, 0), "*", grey_text}};
  } else {
    all = {{"perf", points(rows, look, &ShareRow::perf, offset_in_row), "o", line_of_perf},
           {"papi", points(rows, look, &ShareRow::papi, -offset_in_row), "x", line_of_papi}};
  }
  std::erase_if(all, [](const RowBlock& block) { return block.points.empty(); });
  return all;
}

GnuplotCode curve_block(std::size_t panel, std::size_t curve) {
  return code("$panel{}curve{}", panel + 1, curve + 1);
}

void write_rows_data(GnuplotWriter& gp, const Panel& panel, const std::vector<Drawing>& drawings) {
  const RowsLook& look = *drawings.front().layout.panels.front().rows;
  gp << "# Data: share as drawn, row, interval of 90 %, share as counted\n";
  for (const bool text : {true, false}) {
    if (std::ranges::none_of(drawings, [&](const Drawing& d) { return (d.format == Format::dumb) == text; }))
      continue;
    for (const RowBlock& block : row_blocks(panel.rows, look, text))
      gp.data(code("$rows{}", block.name), block.points);
    if (!text) gp.data(GnuplotCode("$rowsstated"), expected_points(panel.rows, look));
  }
}

/// Data blocks: unlike '-', they can be drawn several times, in several formats.
/// The y axis of a panel, in all drawings.
std::pair<double, double> y_range(const std::vector<Drawing>& drawings, std::size_t panel) {
  const Axis& first = drawings.front().layout.panels[panel].y;
  std::pair<double, double> range{first.low, first.high};
  for (const Drawing& drawing : drawings) {
    const Axis& y = drawing.layout.panels[panel].y;
    range = {std::min(range.first, y.low), std::max(range.second, y.high)};
  }
  return range;
}

void write_data(GnuplotWriter& gp, const Sheet& sheet, const std::vector<Drawing>& drawings) {
  if (drawings.front().layout.panels.front().rows) return write_rows_data(gp, sheet.panels.front(), drawings);
  gp << comment(sheet.panels.front().x_along == Panel::Along::linear
                    ? "Data: x, y, and twice the same"
                    : "Data: x (bytes where it is a size), y, ends of the band");
  for (std::size_t p = 0; p < sheet.panels.size(); ++p)
    for (std::size_t c = 0; c < sheet.panels[p].series.size(); ++c) {
      const Series& series = sheet.panels[p].series[c];
      gp << comment(series.label);
      // A band that leaves the axis is cut there: terminals draw what lies outside in different ways.
      const auto [low, high] = y_range(drawings, p);
      gp.data(curve_block(p, c), series.samples | ranges::views::transform([&](const Sample& s) {
                                   return DataRow{s.x, s.y, std::max(s.low, low), std::min(s.high, high)};
                                 }) | ranges::to<std::vector>());
    }
}

/// Whether two curves run through the same points of the figure.
bool coincide(const Series& a, const Series& b) {
  constexpr double indistinct = 0.01; ///< of the value
  std::size_t shared = 0, same = 0;
  for (const Sample& s : a.samples)
    for (const Sample& t : b.samples)
      if (s.x == t.x) {
        ++shared;
        same += std::abs(s.y - t.y) <= indistinct * std::max(std::abs(s.y), std::abs(t.y)) ? 1U : 0U;
      }
  return shared > 1 && 2 * same > shared;
}

/// Later curves that are drawn over the one of this name in any panel: its markers are larger in all, so that
/// they show around theirs. Two at most.
int covering_curves(const Sheet& sheet, const Series& curve) {
  int most = 0;
  for (const Panel& panel : sheet.panels)
    for (std::size_t i = 0; i < panel.series.size(); ++i) {
      const Series& here = panel.series[i];
      if (here.label != curve.label || here.modelled != curve.modelled || here.look != curve.look) continue;
      const auto covering = std::count_if(
          panel.series.begin() + static_cast<std::ptrdiff_t>(i) + 1, panel.series.end(),
          [&](const Series& later) { return later.look == here.look && coincide(here, later); });
      most = std::max(most, static_cast<int>(std::min<std::ptrdiff_t>(covering, 2)));
    }
  return most;
}

/// The commands for one panel of one drawing. Places are points at final size, as in its layout.
class PanelScript {
public:
  PanelScript(GnuplotWriter& gp, const Sheet& sheet, const Drawing& drawing, std::size_t index)
      : gp_(gp),
        sheet_(sheet),
        panel_(sheet.panels[index]),
        look_(drawing.layout.panels[index]),
        drawing_(drawing),
        index_(index),
        tex_(is_tex(drawing.format)),
        cells_(drawing.format == Format::dumb) {}

  void write() {
    gp_ << "unset label; unset arrow" << (panel_.spans.empty() ? Literal("") : Literal("; unset object"))
        << "\n";
    if (cells_) gp_ << "set border 3 lt -1\nset grid ytics lt 0, lt 0\n"; // colours are signs there: "&", "="
    write_axes();
    look_.rows ? write_row_names() : tics("y", look_.y);
    label(panel_.title, look_.title, left_);
    label(panel_.x_title, look_.x_title, center_);
    if (look_.rows) {
      write_row_key();
      write_remarks();
    } else {
      write_text();
    }
    if (index_ == 0) write_caption();
    if (look_.rows) {
      gp_ << "plot " << row_marks() << "\n";
      return;
    }
    if (look_.labelled) write_labels();
    write_curves();
  }

private:
  [[nodiscard]] GnuplotCode screen(Vec at) const {
    return code("screen {:.5f}, screen {:.5f}", at.x / drawing_.layout.width, at.y / drawing_.layout.height);
  }

  /// `options`: what follows the place, such as "left tc lt 44".
  void label(const std::string& text, Vec at, const GnuplotCode& options) {
    gp_ << "set label " << plot::quoted(text, tex_) << " at " << screen(at) << " " << options << "\n";
  }

  void tics(Literal axis, const Axis& of) {
    gp_ << "set " << axis << "tics (";
    for (std::size_t i = 0; i < of.tics.size(); ++i)
      gp_ << code("{}{} {}", i > 0 ? Literal(", ") : Literal(""), quoted_tic(of.tics[i].text, tex_),
                  of.tics[i].at);
    gp_ << ")\n";
  }

  void write_caption() {
    double y = drawing_.layout.caption_top - (cells_ ? 4 : 4.25);
    for (const auto& line : drawing_.layout.caption) {
      label(line, {cells_ ? 0.0 : 4.0, y}, code("left tc lt {}", line_of_capacity));
      y -= cells_ ? 8 : 8.5;
    }
  }

  void write_axes() {
    const double w = drawing_.layout.width, h = drawing_.layout.height;
    const Box& plot = look_.plot;
    gp_ << code("set lmargin at screen {:.5f}; set rmargin at screen {:.5f}\n", plot.left / w, plot.right / w)
        << code("set bmargin at screen {:.5f}; set tmargin at screen {:.5f}\n", plot.bottom / h, plot.top / h)
        << "unset logscale" // the panel before may differ
        << (look_.x.log2 ? Literal("; set logscale x 2") : Literal(""))
        << (look_.y.log2 ? Literal("; set logscale y 2\n") : Literal("\n"))
        << code("set xrange [{}:{}]; set yrange [{}:{}]\n", look_.x.low, look_.x.high, look_.y.low,
                look_.y.high);
    if (look_.rows)
      gp_ << (cells_ ? Literal("unset grid\n") : Literal("set grid noytics xtics lt 42\n"))
          << "set errorbars 0\nunset key\n";
    tics("x", look_.x);
  }

  void write_text() {
    // A text terminal cannot turn its letters: there the title of the y axis is above it.
    if (cells_)
      label(panel_.y_title, {look_.title.x, look_.title.y - 8}, left_);
    else
      label(panel_.y_title, look_.y_title, Literal("center rotate by 90 ") + grey_);
    for (const auto& note : look_.notes)
      label(note.text, note.at, center_);
    for (const auto& m : look_.marks) {
      gp_ << code("set arrow from {0}, graph 0 to {0}, graph 1 nohead back lt {1}\n", m.x, line_of_capacity);
      label(m.label, m.at, center_);
    }
    for (const auto& span : look_.spans) {
      if (!cells_)
        gp_ << code("set object rectangle from graph {:.5f}, graph 0 to graph {:.5f}, graph 1 behind "
                    "fillcolor linetype {} fillstyle solid 1 noborder\n",
                    span.begin, span.end, span.dark ? dark_stretch : pale_stretch);
      if (!span.label.empty()) label(span.label, span.at, center_);
    }
  }

  void write_labels() {
    for (const auto& curve : look_.curves) {
      if (curve.label.empty()) continue;
      const auto& place = curve.place;
      label(curve.label, place.box.centre(), code("center front tc lt {}", curve.linetype));
      if (!place.leader || cells_) continue;
      const Vec from = *place.leader,
                to{from.x, place.box.bottom > from.y ? place.box.bottom : place.box.top};
      gp_ << code("set arrow from {} to {} nohead lt {} lw 0.5 dt solid\n", screen(from), screen(to),
                  curve.linetype);
    }
  }

  void write_key() {
    if (look_.labelled) {
      gp_ << "unset key\n";
      return;
    }
    const Vec corner{look_.plot.right + 4, look_.plot.top};
    gp_ << code("set key at {} left top Left reverse samplen 1.8 spacing 0.95 tc lt {} maxrows {}",
                screen(corner), grey_text, look_.key_rows);
    // In LaTeX the title of a key lands on its first name; that of the panel is the same.
    if (!panel_.series_title.empty() && !tex_)
      gp_ << " title " << plot::quoted(panel_.series_title, tex_) << " left";
    if (panel_.ordered) gp_ << " invert"; // the largest on top, as the curves mostly are
    gp_ << "\n";
  }

  void write_curves() {
    write_key();
    std::vector<GnuplotCode> parts;
    for (std::size_t i = 0; i < panel_.series.size() && !cells_; ++i) {
      if (!panel_.series[i].band) continue;
      const GnuplotCode block = curve_block(index_, i);
      const int line = look_.curves[i].linetype;
      parts.push_back(
          panel_.series[i].look == Series::Look::points
              ? code("{} using 1:3:(0):($4-$3) with vectors nohead lt {} lw 1 notitle", block, line)
              : code("{} using 1:3:4 with filledcurves lt {} notitle", block, line));
    }
    for (std::size_t i = 0; i < panel_.series.size(); ++i)
      parts.push_back(curve(i));
    gp_ << "plot ";
    for (std::size_t i = 0; i < parts.size(); ++i)
      gp_ << (i > 0 ? Literal(", \\\n     ") : Literal("")) << parts[i];
    gp_ << "\n";
  }

  [[nodiscard]] GnuplotCode curve(std::size_t i) const {
    const auto& look = look_.curves[i];
    const Series& series = panel_.series[i];
    const GnuplotCode block = curve_block(index_, i);
    if (panel_.draw == Panel::Draw::lines)
      return code("{} using 1:2 with lines lt {} lw 1.5 notitle", block, look.linetype);
    if (panel_.draw == Panel::Draw::filled)
      return code("{} using 1:2 with {} lt {} notitle", block,
                  cells_ ? Literal("lines") : Literal("filledcurves y1=0 fillstyle solid 0.85 noborder"),
                  look.linetype);
    const GnuplotCode named = look_.labelled || look.label.empty()
                                  ? GnuplotCode("notitle")
                                  : Literal("title ") + plot::quoted(look.label, tex_);
    const int lt = look.linetype + (series.modelled ? modelled : 0);
    if (series.look == Series::Look::level && series.linetype == 0)
      return code("{} using 1:2 with lines lt {} lw 1.2 notitle", block, look.linetype);
    if (series.look == Series::Look::level)
      return code("{} using 1:2 with linespoints lt {} lw 0.8 dt (1.5,2.5) ps {:.3f} notitle", block, lt,
                  0.4 * marker_scale(drawing_.format));
    const bool points = series.look == Series::Look::points;
    const double size = (series.modelled ? 0.42 : 0.3) * (points ? 1.6 : 1.0) *
                        (1 + 0.5 * covering_curves(sheet_, series)) * marker_scale(drawing_.format);
    return code("{} using 1:2 with {} lt {} lw 1.5 ps {:.3f} {}", block,
                points ? Literal("points") : Literal("linespoints"), lt, size, named);
  }

  // A panel of rows.

  [[nodiscard]] double height(std::size_t i) const { return row_height(i, panel_.rows.size()); }
  [[nodiscard]] double marker_size() const { return 0.42 * marker_scale(drawing_.format); }

  void write_row_names() {
    Axis names;
    for (std::size_t i = 0; i < panel_.rows.size(); ++i)
      names.tics.push_back({height(i), look_.rows->names[i]});
    gp_ << "set ytics scale 0\n";
    tics("y", names);
  }

  void write_row_key() {
    if (cells_) return label("o perf   x PAPI   * both", look_.rows->key[0], Literal("left"));
    const double size = marker_size();
    const GnuplotCode marks[] = {
        code("point lt {} ps {:.3f}", line_of_perf, size), code("point lt {} ps {:.3f}", line_of_papi, size),
        code("point lt {} pt 5 lc rgb {} ps {:.3f}", grey_text, grey_bar, 1.6 * size)};
    for (std::size_t i = 0; i < std::size(row_key_names); ++i) {
      const Vec at = look_.rows->key[i];
      label("", {at.x + 2.5, at.y}, marks[i]);
      label(row_key_names[i], {at.x + 9, at.y}, left_);
    }
    gp_ << code("set arrow from 1, graph 0 to 1, graph 1 nohead back lt {}\n", line_of_capacity);
  }

  void write_remarks() {
    for (std::size_t i = 0; i < panel_.rows.size(); ++i)
      gp_ << "set label " << plot::quoted(panel_.rows[i].remark, tex_)
          << code(" at screen {:.5f}, first {} left tc lt {}\n", look_.rows->remarks / drawing_.layout.width,
                  height(i), panel_.rows[i].good ? line_of_capacity : grey_text);
  }

  [[nodiscard]] GnuplotCode row_marks() const {
    GnuplotCode all;
    if (!cells_)
      all =
          code("$rowsstated using 1:2:3:4:($2-0.36):($2+0.36) with boxxyerror fs solid 1 noborder lc rgb {} "
               "notitle",
               grey_bar);
    for (const RowBlock& block : row_blocks(panel_.rows, *look_.rows, cells_)) {
      const GnuplotCode style = cells_ ? code("using 1:2 with points pt '{}'", block.letter)
                                       : code("using 1:2:3:4 with xerrorbars lw 1 ps {:.3f}", marker_size());
      all += code("{}$rows{} {} lt {} notitle", all.empty() ? Literal("") : Literal(", \\\n     "),
                  block.name, style, block.line);
    }
    return all;
  }

  GnuplotWriter& gp_;
  const Sheet& sheet_;
  const Panel& panel_;
  const PanelLook& look_;
  const Drawing& drawing_;
  std::size_t index_;
  bool tex_, cells_;
  GnuplotCode grey_ = code("tc lt {}", grey_text), left_ = Literal("left ") + grey_,
              center_ = Literal("center ") + grey_;
};

void write_drawing(GnuplotWriter& gp, const Sheet& sheet, const Drawing& drawing) {
  if (!drawing.folder.empty()) gp << "cd " << file_literal(drawing.folder) << "\n";
  gp << comment(name_of(drawing.format)) << "set terminal "
     << terminal(drawing.format, drawing.layout, drawing.colour) << "\nset output "
     << file_literal(drawing.file) << "\n";
  if (sheet.panels.size() > 1) gp << "set multiplot\n";
  for (std::size_t i = 0; i < sheet.panels.size(); ++i)
    PanelScript(gp, sheet, drawing, i).write();
  if (sheet.panels.size() > 1) gp << "unset multiplot\n";
  gp << "unset output\n";
}
} // namespace

void write_script(GnuplotWriter& gp, const Sheet& sheet, const std::vector<Drawing>& drawings) {
  gp << comment("Figure " + sheet.name +
                ", drawn by recount from the data below; gnuplot -d FILE draws it again.");
  for (const auto& piece : sheet.caption)
    gp << comment("  " + piece);
  gp << style_script();
  write_data(gp, sheet, drawings);
  for (const auto& drawing : drawings)
    write_drawing(gp, sheet, drawing);
}

} // namespace recount::plot
