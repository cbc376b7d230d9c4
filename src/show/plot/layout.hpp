// The positions of everything in a figure, in points at final size, y upwards.
#pragma once

#include "base/format.hpp"
#include "show/plot/gnuplot.hpp"
#include "show/plot/sheet.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace recount::plot {

/// The text of plots/style.gp, so that a script holds everything it needs.
[[nodiscard]] GnuplotCode style_script();

/// Linetypes that style.gp defines.
inline constexpr int categories = 7;  ///< 1 to 7
inline constexpr int first_step = 21; ///< 21 to 32: an ordered scale
inline constexpr int steps = 12;
inline constexpr int line_of_level = 41; ///< of a limit: the grey of the axes
inline constexpr int line_of_capacity = 43;
inline constexpr int grey_text = 44;
inline constexpr int pale_stretch = 45, dark_stretch = 46; ///< behind the curves
inline constexpr int modelled = 100;                       ///< added to the linetype of a curve

/// The font that labels are set in; metric-compatible with Arial and Helvetica.
inline constexpr Literal font = "Liberation Sans";
/// Points at final size.
inline constexpr double text_size = 7, title_size = 8;

// Widths and axes.

/// Width in points of UTF-8 text in Liberation Sans of this size. Widths of the Latin letters and digits are
/// those of the font (rounded to 1/100 em); others count as a digit.
[[nodiscard]] double text_width(std::string_view text, double size);
/// Characters, not bytes: the width of text in a terminal.
[[nodiscard]] std::size_t characters(std::string_view text);
/// Pieces joined by "; " into lines that `wide` measures as no wider than `width`; none is split.
[[nodiscard]] std::vector<std::string> wrap(const std::vector<std::string>& pieces, double width,
                                            const std::function<double(std::string_view)>& wide);

struct Tic {
  double at = 0;
  std::string text;
};

/// From `low` to `high`, both included in the plot.
struct Axis {
  double low = 0, high = 1;
  bool log2 = false;
  std::vector<Tic> tics;

  /// The position of a value, 0 at `low` and 1 at `high`.
  [[nodiscard]] double place(double value) const;
};

/// Round steps (1, 2 or 5 times a power of ten), about `wanted` of them, from 0 or below `low` to `high`.
[[nodiscard]] Axis linear_axis(double low, double high, int wanted);

/// Logarithmic, with tics at powers of ten, and at 2 and 5 times them where they are few (low > 0).
[[nodiscard]] Axis decades_axis(double low, double high);

/// From the least to the largest of the values with a margin, logarithmic where they differ by more than a
/// factor of 3; tics at the values, as long as their texts stay `gap` apart on an axis of `length`.
[[nodiscard]] Axis settings_axis(std::vector<double> values, double length, double gap,
                                 const std::function<double(const std::string&)>& wide);

/// Powers of two around low to high (both > 0), with a tic at every 2nd, 3rd, ... power so that the texts of
/// neighbours stay `gap` apart on an axis of `length`; `wide` measures a text, `name` writes a value.
[[nodiscard]] Axis log2_axis(double low, double high, double length, double gap,
                             const std::function<std::string(double)>& name,
                             const std::function<double(const std::string&)>& wide);

// Plane geometry of boxes and segments, in points, y upwards. Pure.
struct Vec {
  double x = 0, y = 0;
};

struct Box {
  double left = 0, bottom = 0, right = 0, top = 0;
  [[nodiscard]] Vec centre() const { return {(left + right) / 2, (bottom + top) / 2}; }
  [[nodiscard]] double width() const { return right - left; }
  [[nodiscard]] double height() const { return top - bottom; }
};

[[nodiscard]] Box box_around(Vec centre, double width, double height);
[[nodiscard]] Box grown(const Box& box, double by);
/// Touching borders are no overlap.
[[nodiscard]] bool overlap(const Box& a, const Box& b);
[[nodiscard]] bool inside(const Box& a, const Box& of);
/// Whether the segment from `a` to `b` touches the box.
[[nodiscard]] bool crosses(Vec a, Vec b, const Box& box);
/// The distance to the box, 0 when they touch.
[[nodiscard]] double distance(Vec p, const Box& box);
[[nodiscard]] double distance(Vec a, Vec b, const Box& box);

/// A curve and the size of the label it wants.
struct Labelled {
  std::vector<Vec> line;
  double width = 0, height = 0;
  bool named = true; ///< false: it wants none
  int group = 0;     ///< curves of one group (not 0) may stand for one another: a label may be taken for any
};

/// What is there already.
struct Field {
  Box area;               ///< labels stay inside
  std::vector<Box> taken; ///< labels stay off
  double marker = 2;      ///< radius of the markers at the points of the lines
  double gap = 1.5;       ///< least distance of a label from anything
};

struct Placed {
  Box box;
  std::optional<Vec> leader; ///< set when the label is apart: a thin line from here to the box joins them
};

/// A place for each label such that none overlaps another, a line, a marker or what is taken, no leader
/// crosses a label or another line, and nobody can take it for the label of another line. Prefers the ends of
/// lines. Nothing when no such places were found (then a key is needed). Deterministic.
[[nodiscard]] std::optional<std::vector<Placed>> place_labels(const std::vector<Labelled>& curves,
                                                              const Field& field);

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
[[nodiscard]] PanelLook make_rows_look(const Panel& panel, const Box& cell, const Canvas& canvas);

/// The names of the marks in the key of a panel of rows; the last is the reference for the witnesses.
inline constexpr const char* row_key_names[] = {"perf", "PAPI", "modelled, with its tolerance"};

/// Distances of a plot from the sides of its cell.
struct Margins {
  double left = 0, right = 0, top = 0;
};
/// The look of one of all panels of a figure: axes of one title have one scale. `key`: names are in a key
/// even where labels would fit. The margins are at least `least`, so that the plots of all panels are
/// aligned.
[[nodiscard]] PanelLook make_panel_look(const std::vector<Panel>& all, std::size_t index, const Box& cell,
                                        const Canvas& canvas, bool key, const Margins& least = {});

/// Whether the band of a point leaves the picture. Of panels over rows: never.
[[nodiscard]] bool cuts_bands(const std::vector<Panel>& panels);
inline constexpr const char* cut_bands_text = "bands end at the edge of the plot";

[[nodiscard]] Layout lay_out(const Sheet& sheet, const Canvas& canvas);

/// The canvas that a format offers at this width in inches; text takes the size of the terminal instead.
[[nodiscard]] Canvas make_canvas(Format format, double inches, TextSize text = {});

/// "set terminal ..." for a figure of the layout's size. Fonts come out at their size in points, PNG at 300
/// dots an inch, SVG at the 96 of CSS.
[[nodiscard]] GnuplotCode terminal(Format format, const Layout& layout, bool colour);

/// Factor on the size of markers, which differs between terminals.
[[nodiscard]] double marker_scale(Format format);

// The gnuplot script of a figure.

/// One file that the script draws.
struct Drawing {
  Format format = Format::pdf;
  std::string file;   ///< the name in the script, without a folder
  std::string folder; ///< where gnuplot is sent first; empty: where it is
  Layout layout;
  bool colour = true; ///< for text
};

/// Sends the whole script.
void write_script(GnuplotWriter& gnuplot, const Sheet& sheet, const std::vector<Drawing>& drawings);

} // namespace recount::plot
