// The positions of everything in a figure, in points at final size, y upwards.
#pragma once

#include "plot/axis.hpp"
#include "plot/figure.hpp"
#include "plot/gnuplot.hpp"
#include "plot/labels.hpp"
#include "plot/sheet.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::plot {

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

/// A shaded stretch.
struct SpanLook {
  double begin = 0, end = 0; ///< 0 to 1: shares of the width of the plot
  std::string label;
  Vec at; ///< centre of the label
  bool dark = false;
};

/// A text at a fixed position.
struct Note {
  std::string text;
  Vec at; ///< its centre
};

/// How a panel of rows is drawn: shares that a logarithmic axis cannot show are in lanes at its ends.
struct RowsLook {
  std::vector<std::string> names;             ///< of the rows, the middle of long ones left out
  double least = 0, most = 0;                 ///< range of shares on the axis
  double below = 0, above = 0;                ///< where the others are drawn
  double step = 0;                            ///< points from row to row
  std::vector<Vec> key;                       ///< where the names of the three marks begin
  double remarks = 0;                         ///< where the remarks begin
  [[nodiscard]] double x(double share) const; ///< where a share is drawn, in the unit of the axis
};

struct PanelLook {
  Box plot;
  Axis x, y;
  std::vector<CurveLook> curves;
  std::vector<MarkLook> marks;
  std::vector<SpanLook> spans;
  std::vector<Note> notes; ///< names of levels, next to their lines
  bool labelled = true;    ///< false: the names are in a key right of the plot
  int key_rows = 0;        ///< at most, in each column of the key
  std::optional<RowsLook> rows;
  Vec title, x_title, y_title;
};

struct Layout {
  double width = 0, height = 0;
  std::vector<PanelLook> panels;
  std::vector<std::string> caption;
  double caption_top = 0; ///< of the first line
};

/// Height that a panel of rows takes in all.
[[nodiscard]] double rows_height(const Panel& panel, const Canvas& canvas);
/// A panel of rows within its cell.
[[nodiscard]] PanelLook look_of_rows(const Panel& panel, const Box& cell, const Canvas& canvas);

[[nodiscard]] Layout lay_out(const Sheet& sheet, const Canvas& canvas);

/// The canvas that a format offers at this width in inches; text takes the size of the terminal instead.
[[nodiscard]] Canvas canvas_of(Format format, double inches, TextSize text = {});

/// "set terminal ..." for a figure of the layout's size. Fonts come out at their size in points, PNG at 300
/// dots an inch, SVG at the 96 of CSS.
[[nodiscard]] GnuplotCode terminal(Format format, const Layout& layout, bool colour);

/// Factor on the size of markers, which differs between terminals.
[[nodiscard]] double marker_scale(Format format);

} // namespace recount::plot
