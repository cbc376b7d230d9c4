// The layout of a panel of rows.
#include "plot/layout.hpp"
#include "plot/script_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace recount::plot {
namespace {

/// Shares beyond these are as good as 0 or as infinity to a reader.
constexpr double smallest = 1.0 / 128, largest = 128;
/// The marks' names, and the width of each mark before its name.
constexpr const char* key_names[] = {"perf", "PAPI", name_of_stated};
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

} // namespace recount::plot
