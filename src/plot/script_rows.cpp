#include "plot/script_rows.hpp"

#include "plot/layout.hpp"
#include "plot/pen.hpp"
#include "plot/style.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace recount::plot {
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
    key(2, name_of_stated, code("point lt {} pt 5 lc rgb {} ps {:.3f}", grey_text, grey_bar, 1.6 * size()));
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

} // namespace recount::plot
