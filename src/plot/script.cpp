#include "plot/script_rows.hpp"

#include "base/output_file.hpp"
#include "plot/layout.hpp"
#include "plot/output.hpp"
#include "plot/pen.hpp"
#include "plot/style.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

namespace recount::plot {
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

} // namespace recount::plot
