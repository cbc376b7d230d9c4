#include "plot/script.hpp"

#include "base/output_file.hpp"
#include "plot/layout.hpp"
#include "plot/plot_output.hpp"
#include "plot/style.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

// What all panels are written with: text, tics and margins at places on the page.
namespace recount::plot {

/// Writes gnuplot commands for one drawing. Places are points at final size, as in its layout.
class Pen {
public:
  Pen(GnuplotWriter& gnuplot, const Drawing& drawing);
  /// "screen X, screen Y"
  [[nodiscard]] GnuplotCode screen(Vec at) const;
  /// `how`: what follows the place, such as "left tc lt 44".
  void label(const std::string& text, Vec at, const GnuplotCode& how);
  void tics(Literal axis, const Axis& of);
  void margins(const Box& plot);
  /// The caption.
  void caption();
  [[nodiscard]] bool tex() const { return tex_; }     ///< LaTeX will set the text
  [[nodiscard]] bool cells() const { return cells_; } ///< a text terminal

private:
  GnuplotWriter& gnuplot_;
  const Drawing& drawing_;
  bool tex_, cells_;
};

namespace {
GnuplotCode block(std::size_t panel, std::size_t curve) {
  return code("$panel{}curve{}", panel + 1, curve + 1);
}

/// How the blocks of a panel of rows begin their names.
constexpr Literal rows_block = "rows";

/// Data blocks: unlike '-', they can be drawn several times, in several formats.
void write_data(GnuplotWriter& gp, const Sheet& sheet, const std::vector<Drawing>& drawings) {
  if (const auto& rows = drawings.front().layout.panels.front().rows) {
    const auto texts = std::ranges::count(drawings, Format::dumb, &Drawing::format);
    return write_rows_data(gp, sheet.panels.front(), *rows, rows_block, texts<std::ssize(drawings), texts> 0);
  }
  gp << comment(sheet.panels.front().x_along == Panel::Along::linear
                    ? "Data: x, y, and twice the same"
                    : "Data: x (bytes where it is a size), y, ends of the band");
  for (std::size_t p = 0; p < sheet.panels.size(); ++p) {
    for (std::size_t c = 0; c < sheet.panels[p].series.size(); ++c) {
      const Series& series = sheet.panels[p].series[c];
      std::vector<Row4> rows;
      for (const auto& s : series.samples)
        rows.emplace_back(s.x, s.y, s.low, s.high);
      gp << comment(series.label);
      gp.data(block(p, c), rows);
    }
  }
}

/// The commands for one panel of one drawing.
class PanelScript {
public:
  PanelScript(GnuplotWriter& gp, const Sheet& sheet, const Drawing& drawing, std::size_t index)
      : gp_(gp),
        panel_(sheet.panels[index]),
        look_(drawing.layout.panels[index]),
        drawing_(drawing),
        index_(index),
        tex_(is_tex(drawing.format)),
        cells_(drawing.format == Format::dumb),
        pen_(gp, drawing) {}

  void write() {
    gp_ << "unset label; unset arrow" << (panel_.spans.empty() ? Literal("") : Literal("; unset object"))
        << "\n";
    if (look_.rows) return write_rows(gp_, panel_, look_, drawing_, rows_block);
    write_axes();
    write_text();
    if (index_ == 0) pen_.caption();
    if (look_.labelled) write_labels();
    write_plot();
  }

private:
  void write_axes() {
    pen_.margins(look_.plot);
    gp_ << "unset logscale" // the panel before may differ
        << (look_.x.log2 ? Literal("; set logscale x 2") : Literal(""))
        << (look_.y.log2 ? Literal("; set logscale y 2\n") : Literal("\n"))
        << code("set xrange [{}:{}]; set yrange [{}:{}]\n", look_.x.low, look_.x.high, look_.y.low,
                look_.y.high);
    pen_.tics("x", look_.x);
    pen_.tics("y", look_.y);
  }

  void write_text() {
    const GnuplotCode grey = code("tc lt {}", grey_text);
    pen_.label(panel_.title, look_.title, Literal("left ") + grey);
    pen_.label(panel_.x_title, look_.x_title, Literal("center ") + grey);
    // A text terminal cannot turn its letters: there the title of the y axis is above it.
    if (cells_) {
      pen_.label(panel_.y_title, {look_.title.x, look_.title.y - 8}, Literal("left ") + grey);
    } else {
      pen_.label(panel_.y_title, look_.y_title, Literal("center rotate by 90 ") + grey);
    }
    for (const auto& note : look_.notes)
      pen_.label(note.text, note.at, Literal("center ") + grey);
    for (const auto& m : look_.marks) {
      gp_ << code("set arrow from {0}, graph 0 to {0}, graph 1 nohead back lt {1}\n", m.x, line_of_capacity);
      pen_.label(m.label, m.at, Literal("center ") + grey);
    }
    for (const auto& span : look_.spans)
      write_span(span, Literal("center ") + grey);
  }

  void write_span(const SpanLook& span, const GnuplotCode& how) {
    if (!cells_)
      gp_ << code("set object rectangle from graph {:.5f}, graph 0 to graph {:.5f}, graph 1 behind "
                  "fillcolor linetype {} fillstyle solid 1 noborder\n",
                  span.begin, span.end, span.dark ? dark_stretch : pale_stretch);
    if (!span.label.empty()) pen_.label(span.label, span.at, how);
  }

  void write_labels() {
    for (const auto& curve : look_.curves) {
      if (curve.label.empty()) continue;
      const auto& place = curve.place;
      pen_.label(curve.label, place.box.centre(), code("center front tc lt {}", curve.linetype));
      if (!place.leader || cells_) continue;
      const Vec from = *place.leader,
                to{from.x, place.box.bottom > from.y ? place.box.bottom : place.box.top};
      gp_ << code("set arrow from {} to {} nohead lt {} lw 0.5 dt solid\n", pen_.screen(from),
                  pen_.screen(to), curve.linetype);
    }
  }

  void write_plot() {
    if (look_.labelled) {
      gp_ << "unset key\n";
    } else {
      const Vec corner{look_.plot.right + 4, look_.plot.top};
      gp_ << code("set key at {} left top Left reverse samplen 1.8 spacing 0.95 tc lt {} maxrows {}",
                  pen_.screen(corner), grey_text, look_.key_rows);
      // In LaTeX the title of a key lands on its first name; that of the panel is the same.
      if (!panel_.series_title.empty() && !tex_)
        gp_ << " title " << plot::quoted(panel_.series_title, tex_) << " left";
      if (panel_.ordered) gp_ << " invert"; // the largest on top, as the curves mostly are
      gp_ << "\n";
    }
    std::vector<GnuplotCode> parts;
    for (std::size_t i = 0; i < panel_.series.size() && !cells_; ++i) {
      if (panel_.series[i].band && panel_.series[i].look == Series::Look::points)
        parts.push_back(code("{} using 1:3:(0):($4-$3) with vectors nohead lt {} lw 1 notitle",
                             block(index_, i), look_.curves[i].linetype));
      else if (panel_.series[i].band)
        parts.push_back(code("{} using 1:3:4 with filledcurves lt {} notitle", block(index_, i),
                             look_.curves[i].linetype));
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
    if (panel_.draw == Panel::Draw::lines)
      return code("{} using 1:2 with lines lt {} lw 1.5 notitle", block(index_, i), look.linetype);
    if (panel_.draw == Panel::Draw::filled)
      return code("{} using 1:2 with {} lt {} notitle", block(index_, i),
                  cells_ ? Literal("lines") : Literal("filledcurves y1=0 fillstyle solid 0.85 noborder"),
                  look.linetype);
    const GnuplotCode named = look_.labelled || look.label.empty()
                                  ? GnuplotCode("notitle")
                                  : Literal("title ") + plot::quoted(look.label, tex_);
    if (series.look == Series::Look::level)
      return code("{} using 1:2 with lines lt {} lw 1.2 {}", block(index_, i), look.linetype, named);
    const bool points = series.look == Series::Look::points;
    const int lt = look.linetype + (series.modelled ? modelled : 0);
    const double size = (series.modelled ? 0.42 : 0.3) * (points ? 1.6 : 1.0) * marker_scale(drawing_.format);
    return code("{} using 1:2 with {} lt {} lw 1.5 ps {:.3f} {}", block(index_, i),
                points ? Literal("points") : Literal("linespoints"), lt, size, named);
  }

  GnuplotWriter& gp_;
  const Panel& panel_;
  const PanelLook& look_;
  const Drawing& drawing_;
  std::size_t index_;
  bool tex_, cells_;
  Pen pen_;
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

void save_script(const std::string& path, const Sheet& sheet, const std::vector<Drawing>& drawings) {
  const Delivery delivery(path);
  std::FILE* file = std::fopen(delivery.draft().c_str(), "we");
  if (!file) throw base::cannot_write(path, errno);
  {
    GnuplotWriter gp(file); // closes the file
    write_script(gp, sheet, drawings);
    if (!gp.flush()) throw base::cannot_write(path, errno);
  }
  delivery.deliver();
}

namespace {

constexpr int line_of_perf = 1, line_of_papi = 2;
constexpr double apart_in_row = 0.17; // perf above, PAPI below the middle, so that equal marks both show
constexpr Literal grey_bar = "'#DDDDDD'";

/// Share as drawn, height, ends of the interval as drawn, share as counted.
using RowPoint = Row5;
using Witness = std::optional<Share> ShareRow::*;

/// The middle of the i-th row from the top.
double height_of(std::size_t i, std::size_t rows) {
  return static_cast<double>(rows - i) - 0.5;
}

std::vector<RowPoint> points(const std::vector<ShareRow>& rows, const RowsLook& look, Witness who,
                             double offset) {
  std::vector<RowPoint> all;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (const auto& share = rows[i].*who)
      all.emplace_back(look.x(share->value), height_of(i, rows.size()) + offset, look.x(share->low),
                       look.x(share->high), share->value);
  return all;
}

std::vector<RowPoint> stated_points(const std::vector<ShareRow>& rows, const RowsLook& look) {
  std::vector<RowPoint> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Share& s = rows[i].stated;
    // What must be met exactly is a hair's breadth wide.
    all.emplace_back(1, height_of(i, rows.size()), std::max(std::min(s.low, 0.985), look.below),
                     std::min(std::max(s.high, 1.015), look.above), s.value);
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

/// One data block, and how it is drawn.
struct RowBlock {
  Literal name;
  std::vector<RowPoint> points;
  Literal letter; ///< in text
  int line;
};

/// Those that have points: gnuplot dies of a block without.
std::vector<RowBlock> blocks(const std::vector<ShareRow>& rows, const RowsLook& look, bool text) {
  std::vector<RowBlock> all;
  if (text) {
    const auto equal = with_equal(rows, true), different = with_equal(rows, false);
    all = {{"perfalone", points(different, look, &ShareRow::perf, 0), "o", line_of_perf},
           {"papialone", points(different, look, &ShareRow::papi, 0), "x", line_of_papi},
           {"equal", points(equal, look, &ShareRow::perf, 0), "*", grey_text}};
  } else {
    all = {{"perf", points(rows, look, &ShareRow::perf, apart_in_row), "o", line_of_perf},
           {"papi", points(rows, look, &ShareRow::papi, -apart_in_row), "x", line_of_papi}};
  }
  std::erase_if(all, [](const RowBlock& block) { return block.points.empty(); });
  return all;
}

class RowsScript {
public:
  RowsScript(GnuplotWriter& gp, const Panel& panel, const PanelLook& look, const Drawing& drawing,
             Literal data)
      : gp_(gp),
        panel_(panel),
        look_(look),
        rows_(*look.rows),
        drawing_(drawing),
        data_(data),
        pen_(gp, drawing) {}

  void write() {
    pen_.margins(look_.plot);
    gp_ << "unset logscale; set logscale x 2\n"
        << code("set xrange [{}:{}]; set yrange [{}:{}]\n", look_.x.low, look_.x.high, look_.y.low,
                look_.y.high)
        << (pen_.cells() ? Literal("unset grid\n") : Literal("set grid noytics xtics lt 42\n"))
        << "set errorbars 0\nunset key\n";
    pen_.tics("x", look_.x);
    write_names();
    write_titles();
    write_remarks();
    pen_.caption();
    gp_ << "plot " << marks() << "\n";
  }

private:
  [[nodiscard]] GnuplotCode grey() const { return code("tc lt {}", grey_text); }
  [[nodiscard]] double height(std::size_t i) const { return height_of(i, panel_.rows.size()); }
  [[nodiscard]] double size() const { return 0.42 * marker_scale(drawing_.format); }

  void write_names() {
    Axis names;
    for (std::size_t i = 0; i < panel_.rows.size(); ++i)
      names.tics.push_back({height(i), rows_.names[i]});
    gp_ << "set ytics scale 0\n";
    pen_.tics("y", names);
  }

  void write_titles() {
    pen_.label(panel_.title, look_.title, Literal("left ") + grey());
    pen_.label(panel_.x_title, look_.x_title, Literal("center ") + grey());
    if (pen_.cells()) {
      pen_.label("o perf   x PAPI   * both", rows_.key[0], Literal("left"));
      return;
    }
    key(0, "perf", code("point lt {} ps {:.3f}", line_of_perf, size()));
    key(1, "PAPI", code("point lt {} ps {:.3f}", line_of_papi, size()));
    key(2, stated_name, code("point lt {} pt 5 lc rgb {} ps {:.3f}", grey_text, grey_bar, 1.6 * size()));
    gp_ << code("set arrow from 1, graph 0 to 1, graph 1 nohead back lt {}\n", line_of_capacity);
  }

  void key(std::size_t i, const std::string& name, const GnuplotCode& point) {
    const Vec at = rows_.key[i];
    pen_.label("", {at.x + 2.5, at.y}, point);
    pen_.label(name, {at.x + 9, at.y}, Literal("left ") + grey());
  }

  void write_remarks() {
    for (std::size_t i = 0; i < panel_.rows.size(); ++i)
      gp_ << "set label " << plot::quoted(panel_.rows[i].remark, pen_.tex())
          << code(" at screen {:.5f}, first {} left tc lt {}\n", rows_.remarks / drawing_.layout.width,
                  height(i), panel_.rows[i].good ? line_of_capacity : grey_text);
  }

  [[nodiscard]] GnuplotCode marks() const {
    GnuplotCode all;
    if (!pen_.cells())
      all = code("${}stated using 1:2:3:4:($2-0.36):($2+0.36) with boxxyerror fs solid 1 noborder lc rgb {} "
                 "notitle",
                 data_, grey_bar);
    for (const RowBlock& block : blocks(panel_.rows, rows_, pen_.cells())) {
      const GnuplotCode how = pen_.cells() ? code("using 1:2 with points pt '{}'", block.letter)
                                           : code("using 1:2:3:4 with xerrorbars lw 1 ps {:.3f}", size());
      all += code("{}${}{} {} lt {} notitle", all.empty() ? Literal("") : Literal(", \\\n     "), data_,
                  block.name, how, block.line);
    }
    return all;
  }

  GnuplotWriter& gp_;
  const Panel& panel_;
  const PanelLook& look_;
  const RowsLook& rows_;
  const Drawing& drawing_;
  Literal data_;
  Pen pen_;
};

} // namespace

void write_rows_data(GnuplotWriter& gnuplot, const Panel& panel, const RowsLook& look, Literal name,
                     bool pictures, bool text) {
  const auto write = [&](Literal suffix, const std::vector<RowPoint>& all) {
    gnuplot.data(code("${}{}", name, suffix), all);
  };
  gnuplot << "# Data: share as drawn, row, interval of 90 %, share as counted\n";
  for (const bool in_text : {true, false}) {
    if (!(in_text ? text : pictures)) continue;
    for (const RowBlock& block : blocks(panel.rows, look, in_text))
      write(block.name, block.points);
  }
  if (pictures) write("stated", stated_points(panel.rows, look));
}

void write_rows(GnuplotWriter& gnuplot, const Panel& panel, const PanelLook& look, const Drawing& drawing,
                Literal data) {
  RowsScript(gnuplot, panel, look, drawing, data).write();
}

// The layout of a panel of rows.
namespace {

/// Shares beyond these are as good as 0 or as infinity to a reader.
constexpr double smallest = 1.0 / 128, largest = 128;
/// The marks' names, and the width of each mark before its name.
constexpr const char* key_names[] = {"perf", "PAPI", stated_name};
constexpr double width_of_mark = 9;

struct Extent {
  double low = 0.5, high = 2;
  bool below = false, above = false, negative = false;
  void take(double share) {
    if (share < smallest) {
      below = true;
      negative = negative || share < 0;
    } else if (share > largest) {
      above = true;
    } else {
      low = std::min(low, share);
      high = std::max(high, share);
    }
  }
};

Extent extent_of(const Panel& panel) {
  Extent e;
  for (const ShareRow& row : panel.rows)
    for (const auto* const share : {&row.perf, &row.papi})
      if (*share)
        for (const double v : {(*share)->value, (*share)->low, (*share)->high})
          e.take(v);
  for (const ShareRow& row : panel.rows) { // what is allowed does not stretch the axis without end
    e.low = std::min(e.low, std::max(row.stated.low, 1.0 / 16));
    e.high = std::max(e.high, std::min(row.stated.high, 16.0));
  }
  return e;
}

std::string share_text(double share) {
  return share < 1 ? fmt::format("1/{:g}", 1 / share) : fmt::format("{:g}", share);
}

/// The text without its middle, so that it is no wider than that: both ends of an event name matter.
std::string shortened(const std::string& text, double most, const Canvas& canvas) {
  if (canvas.wide(text) <= most) return text;
  std::string cut;
  for (std::size_t kept = text.size() - 1; kept > 1; --kept) {
    cut = text.substr(0, (kept + 1) / 2) + "…" + text.substr(text.size() - kept / 2);
    if (canvas.wide(cut) <= most) break;
  }
  return cut;
}

double widest_remark(const Panel& panel, const Canvas& canvas) {
  double most = 0;
  for (const ShareRow& row : panel.rows)
    most = std::max(most, canvas.wide(row.remark));
  return most;
}

double row_step(const Canvas& canvas) {
  return canvas.cells ? 8 : canvas.tall() + 2;
}

double above_rows(const Canvas& canvas) { // title and key
  return canvas.cells ? 24 : 2 * canvas.tall() + 5;
}

double below_rows(const Canvas& canvas) { // tics and title of the axis
  return canvas.cells ? 24 : 2 * canvas.tall() + (canvas.tex ? 14 : 8);
}

} // namespace

double RowsLook::x(double share) const {
  if (share < least) return below;
  return share > most ? above : share;
}

double rows_height(const Panel& panel, const Canvas& canvas) {
  const double lines =
      static_cast<double>(panel.rows.size()) + (canvas.cells ? 1 : 0); // the border takes a line
  return above_rows(canvas) + lines * row_step(canvas) + below_rows(canvas);
}

PanelLook look_of_rows(const Panel& panel, const Box& cell, const Canvas& canvas) {
  PanelLook look;
  RowsLook rows;
  rows.step = row_step(canvas);
  const double line = canvas.tall(), gap = canvas.cells ? 4 : 4.5;
  double widest_name = 0;
  for (const ShareRow& row : panel.rows) {
    rows.names.push_back(shortened(row.label, 0.38 * canvas.width, canvas));
    widest_name = std::max(widest_name, canvas.wide(rows.names.back()));
  }
  look.plot = {cell.left + 2 + widest_name + gap + (canvas.tex ? 6 : 0), cell.bottom + below_rows(canvas),
               cell.right - 3 - widest_remark(panel, canvas) - gap, cell.top - above_rows(canvas)};
  rows.remarks = look.plot.right + gap;

  const Extent extent = extent_of(panel);
  rows.least = std::exp2(std::floor(std::log2(extent.low) - 0.01));
  rows.most = std::exp2(std::ceil(std::log2(extent.high) + 0.01));
  // A lane is as wide as its tic's text needs; the rest of the width is the axis, a little beyond its ends.
  const double margin = 6, lane = canvas.cells ? 24 : 20;
  const int lanes = (extent.below ? 1 : 0) + (extent.above ? 1 : 0);
  const double octave =
      std::max(1.0, (look.plot.width() - 2 * margin - lanes * lane) / std::log2(rows.most / rows.least));
  const double step_out = std::exp2(lane / octave), factor = std::exp2(margin / octave);
  rows.below = rows.least / step_out;
  rows.above = rows.most * step_out;
  look.x = log2_axis(extent.below ? rows.below / factor : rows.least / factor,
                     extent.above ? rows.above * factor : rows.most * factor, look.plot.width(),
                     canvas.cells ? 8 : 5, share_text, [&](const std::string& t) { return canvas.wide(t); });
  std::erase_if(look.x.tics,
                [&](const Tic& t) { return t.at < rows.least * 0.999 || t.at > rows.most * 1.001; });
  if (extent.below) look.x.tics.insert(look.x.tics.begin(), {rows.below, extent.negative ? "≤ 0" : "0"});
  if (extent.above) look.x.tics.push_back({rows.above, "> 128"});
  look.y.low = canvas.cells ? -1 : 0;
  look.y.high = static_cast<double>(panel.rows.size());

  look.title = {cell.left + 2, cell.top - line / 2 - (canvas.cells ? 0 : 1)};
  look.x_title = {look.plot.centre().x, cell.bottom + line / 2 + (canvas.cells ? 0 : 1)};
  double x = cell.left + 2;
  for (const char* name : key_names) {
    rows.key.push_back({x, look.title.y - line - (canvas.cells ? 0 : 1)});
    x += width_of_mark + canvas.wide(name) + 8;
  }
  look.rows = rows;
  return look;
}

Pen::Pen(GnuplotWriter& gnuplot, const Drawing& drawing)
    : gnuplot_(gnuplot),
      drawing_(drawing),
      tex_(is_tex(drawing.format)),
      cells_(drawing.format == Format::dumb) {}

GnuplotCode Pen::screen(Vec at) const {
  return code("screen {:.5f}, screen {:.5f}", at.x / drawing_.layout.width, at.y / drawing_.layout.height);
}

void Pen::label(const std::string& text, Vec at, const GnuplotCode& how) {
  gnuplot_ << "set label " << plot::quoted(text, tex_) << " at " << screen(at) << " " << how << "\n";
}

void Pen::tics(Literal axis, const Axis& of) {
  gnuplot_ << "set " << axis << "tics (";
  for (std::size_t i = 0; i < of.tics.size(); ++i)
    gnuplot_ << code("{}{} {}", i > 0 ? Literal(", ") : Literal(""), quoted_tic(of.tics[i].text, tex_),
                     of.tics[i].at);
  gnuplot_ << ")\n";
}

void Pen::margins(const Box& plot) {
  const double w = drawing_.layout.width, h = drawing_.layout.height;
  gnuplot_ << code("set lmargin at screen {:.5f}; set rmargin at screen {:.5f}\n", plot.left / w,
                   plot.right / w)
           << code("set bmargin at screen {:.5f}; set tmargin at screen {:.5f}\n", plot.bottom / h,
                   plot.top / h);
}

void Pen::caption() {
  double y = drawing_.layout.caption_top - (cells_ ? 4 : 4.25);
  for (const auto& line : drawing_.layout.caption) {
    label(line, {cells_ ? 0.0 : 4.0, y}, code("left tc lt {}", line_of_capacity));
    y -= cells_ ? 8 : 8.5;
  }
}

} // namespace recount::plot
