#include "plot/layout.hpp"

#include "plot/panel_look.hpp"
#include "plot/style.hpp"
#include "plot/plot_text.hpp"

#include <algorithm>
#include <cmath>

namespace recount::plot {
namespace {

struct Grid {
  std::size_t columns = 1, rows = 1;
};

/// Two panels fit side by side on the width of a page; on that of a column they are stacked.
Grid grid_of(std::size_t panels, const Canvas& canvas) {
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
  const Grid grid = strips ? Grid{1, sheet.panels.size()} : grid_of(sheet.panels.size(), canvas);
  Layout layout;
  layout.width = canvas.width;
  const auto wide = [&](std::string_view t) { return canvas.wide(t); };
  layout.caption = canvas.cells || sheet.caption_is_key
                       ? wrap(sheet.caption, "; ", canvas.width - 8, wide)
                       : in_one_line(sheet.caption, "; ", canvas.width - 8, wide);
  const double caption_height =
      canvas.tall() * static_cast<double>(layout.caption.size()) + (canvas.cells ? 0 : 3);
  const auto rows = static_cast<double>(grid.rows), columns = static_cast<double>(grid.columns);
  const bool of_rows = sheet.panels.size() == 1 && !sheet.panels.front().rows.empty();
  const double each = of_rows             ? rows_height(sheet.panels.front(), canvas)
                      : canvas.height > 0 ? std::floor((canvas.height - caption_height) / rows)
                                          : panel_height(canvas, grid, strips);
  layout.height = canvas.height > 0 && !of_rows ? canvas.height : each * rows + caption_height;
  layout.caption_top = caption_height - (canvas.cells ? 0 : 1);
  const auto draw_up = [&](bool key, double least_left = 0) {
    layout.panels.clear();
    for (std::size_t i = 0; i < sheet.panels.size(); ++i) {
      const auto at_row = i / grid.columns;
      const auto column = static_cast<double>(i % grid.columns), row = static_cast<double>(at_row);
      const double left = column * canvas.width / columns, top = layout.height - row * each;
      const Box cell{left, top - each, left + canvas.width / columns, top};
      layout.panels.push_back(look_of(sheet.panels[i], cell, canvas, key, least_left));
    }
  };
  if (of_rows) {
    const Box cell{0, caption_height, canvas.width, layout.height};
    layout.panels = {look_of_rows(sheet.panels.front(), cell, canvas)};
    return layout;
  }
  draw_up(false);
  if (strips) {
    double left = 0;
    for (const auto& panel : layout.panels)
      left = std::max(left, panel.plot.left);
    draw_up(false, left);
  }
  // Panels side by side or stacked are read together: a key in one means a key in all.
  if (!std::all_of(layout.panels.begin(), layout.panels.end(), [](const auto& p) { return p.labelled; }))
    draw_up(true);
  return layout;
}

} // namespace recount::plot
