// Where everything in a figure stands, in points at final size, y upwards.
#pragma once

#include "figure/axis.hpp"
#include "figure/labels.hpp"
#include "figure/sheet.hpp"

#include <string>
#include <vector>

namespace recount::figure {

/// What is drawn on. A text terminal is taken as cells of 4 by 8 points.
struct Canvas {
  double width = 240;
  double height = 0; ///< 0: as the panels need it
  bool cells = false;
  bool tex = false; ///< set in Computer Modern, which runs wider than Helvetica

  [[nodiscard]] double wide(std::string_view text) const;
  [[nodiscard]] double tall() const { return cells ? 8.0 : 8.5; } ///< of a line of text
};

struct CurveLook {
  std::string label; ///< as it fits: whole or compact
  int linetype = 1;
  Placed place; ///< of the label; unused when there is a key
};

struct MarkLook {
  double x = 0; ///< in the unit of the axis
  std::string label;
  Vec at; ///< centre of the label
};

struct PanelLook {
  Box plot;
  Axis x, y;
  std::vector<CurveLook> curves;
  std::vector<MarkLook> marks;
  bool labelled = true; ///< false: the names stand in a key, right of the plot
  int key_rows = 0;     ///< at most, in each column of the key
  Vec title, x_title, y_title;
};

struct Layout {
  double width = 0, height = 0;
  std::vector<PanelLook> panels;
  std::vector<std::string> caption;
  double caption_top = 0; ///< of the first line
};

[[nodiscard]] Layout lay_out(const Sheet& sheet, const Canvas& canvas);

} // namespace recount::figure
