// The contents of a figure before layout: panels of series, and the caption.
#pragma once

#include "run/result/results_file.hpp"

#include <recount/error.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::plot {

/// The formats of figures.
enum class Format { pdf, svg, png, tikz, cairolatex, dumb };
inline constexpr Format formats[] = {Format::pdf,  Format::svg,        Format::png,
                                     Format::tikz, Format::cairolatex, Format::dumb};

/// Throws recount::Error (bad_input) with the known formats when there is none of that name.
[[nodiscard]] Format parse_format(const std::string& name);
[[nodiscard]] std::string name_of(Format format);
/// The format that a path's suffix stands for (.pdf .svg .png .tikz .tex .txt); nothing for any other.
[[nodiscard]] std::optional<Format> format_by_suffix(const std::string& path);
/// `path` with its suffix, if it is one of a format, replaced by the one of `format`. A cairolatex figure
/// becomes NAME-latex.tex, since it brings a PDF of the same name.
[[nodiscard]] std::string with_suffix(const std::string& path, Format format);

/// Text that LaTeX will set: its special characters need escaping.
[[nodiscard]] inline bool is_tex(Format f) {
  return f == Format::tikz || f == Format::cairolatex;
}

/// Large values in thousands, millions, so that the numbers at an axis stay short.
struct Magnitude {
  double factor = 1;
  std::string word; ///< "million"; empty: as they are
};

[[nodiscard]] inline Magnitude choose_magnitude(double most) {
  if (most >= 2e9) return {1e9, "billion"};
  if (most >= 2e6) return {1e6, "million"};
  if (most >= 2e3) return {1e3, "thousand"};
  return {};
}

// Panels and series.

/// One point of a series; y is NaN where nothing was counted, which breaks the line.
struct Sample {
  double x = 0, y = 0, low = 0, high = 0; ///< low and high bound the band
};

struct Series {
  std::string label, compact; ///< compact: the same in fewer characters. None: unlabelled
  std::vector<Sample> samples;
  bool modelled = false; ///< drawn dashed with open markers, and called so
  bool band = false;     ///< the points are medians of several repetitions
  /// level: a limit, thin and grey with its name; of a linetype: the reference of the curve of that colour,
  /// dotted and without a name
  enum class Look { curve, points, level } look = Look::curve;
  int linetype = 0; ///< one of the categories, the same in every figure; 0: by its place among the others
};

/// A vertical line: a capacity that the system states.
struct Mark {
  double x = 0;
  std::string label;
};

/// A stretch of a linear x axis, shaded: a section of a program, a function.
struct Span {
  double begin = 0, end = 0;
  std::string label; ///< shown where it fits
  bool dark = false;
};

/// A count as a share of what it must be, with its interval.
struct Share {
  double value = 0, low = 0, high = 0;
};

/// One line of a panel of shares: the counts of two witnesses, and the allowed range.
struct ShareRow {
  std::string label;
  std::optional<Share> perf, papi;
  Share stated;       ///< modelled; low and high bound what is allowed
  std::string remark; ///< right of the row
  bool good = true;
};

struct Panel {
  std::string title;            ///< what was run and who counted
  std::string x_title, y_title; ///< with units
  std::vector<Series> series;
  std::vector<ShareRow> rows; ///< in place of series: names on the y axis, shares on a logarithmic x axis
  std::string series_title;   ///< the parameter that distinguishes the series: "size"
  std::vector<Mark> marks;
  std::vector<Mark> x_tics; ///< of a linear axis, those that fit; none: round numbers
  std::vector<Span> spans;  ///< of a linear axis
  enum class Draw { points, lines, filled } draw = Draw::points;
  bool ordered = false;    ///< the series follow one another (sizes): shades rather than distinct colours
  bool y_is_share = false; ///< 0 to 1 where it can
  bool y_is_time = false;  ///< logarithmic where the times differ much
  bool y_halves = false;   ///< logarithmic: halving is a straight line
  std::vector<double> y_tics = {}; ///< of a logarithmic axis of powers of two, besides these
  bool y_decades = false;          ///< logarithmic where the values differ much, tics at powers of ten
  /// bytes: powers of two; settings: tics at the x of the samples; number: any positive, logarithmic; names:
  /// x_names at 1, 2 ...; linear: as they are, seconds or places
  enum class Along { bytes, settings, number, names, linear } x_along = Along::bytes;
  std::vector<std::string> x_names;
};

struct Sheet {
  std::string name;
  std::vector<Panel> panels;
  /// Pieces of the caption, the most important first: machine, statistics, what is missing. On paper the
  /// figure itself has those that fit in one line; caption_text() has all.
  std::vector<std::string> caption;
  std::string prose = {};      ///< what it shows, where that is not what its entry says; empty: that
  bool caption_is_key = false; ///< the pieces explain the figure ("1 main: 40 %"): all of them are in it
  std::vector<std::string> warnings; ///< for stderr, whole sentences
};

// Figures from results: gnuplot draws, one style for all.

/// Which of the observations to draw; empty lists leave the choice to the figure.
struct Choice {
  std::vector<std::string> metrics; ///< preset or event names, "seconds", "tsc_cycles"
  std::vector<Witness> witnesses;
};

/// The choice with "model" replaced by the models of described machines ("model:i7-9700") where the results
/// hold no other model. A word that selects nothing becomes a warning. Throws recount::Error (bad_input),
/// naming what exists, when no word of a list selects anything.
[[nodiscard]] Choice resolve(const Choice& choice, const result::Results& results,
                             std::vector<std::string>& warnings);

/// Words of a caption that name curves, and whether a sheet has them.
struct Promise {
  std::string words;
  bool (*kept)(const Sheet&);
};

/// The name and the description of a figure.
struct Entry {
  std::string name;  ///< "access-time"
  std::string prose; ///< what it shows, one line
  std::string needs; ///< what a results file must hold for it, one line
  std::vector<Promise> promises = {};
};

/// A figure that recount can draw. Features list theirs; commands/cli/commands.cpp has the table of all.
struct Figure {
  Entry entry;
  /// Throws recount::Error (bad_input), naming the contents of the results, when they cannot fill the figure.
  std::function<Sheet(const result::Results&, const Choice&)> compose;
  /// Whether `recount plot` draws it when no figure is named.
  std::function<bool(const result::Results&, const Choice&)> suits;
};

/// Throws recount::Error (bad_input) with the nearest names.
[[nodiscard]] const Figure& find(const std::vector<Figure>& figures, std::string_view name);
/// The first figure that these results can fill. Throws recount::Error (bad_input), naming what the results
/// contain and what each figure needs, when there is none.
[[nodiscard]] const Figure& suitable(const std::vector<Figure>& figures, const result::Results& results,
                                     const Choice& choice = {});

/// Figures of curves over size or stride: access-time, working-set, misses, working-set-misses.
[[nodiscard]] std::vector<Figure> curve_figures();

/// The whole caption: what the figure shows, its panels, and all pieces of the sheet's caption. Throws
/// recount::Error (bad_input) for a promise that the sheet breaks, and for a hit rate outside 0 to 1.
[[nodiscard]] std::string caption_text(const Entry& entry, const Sheet& sheet);

/// Before something is measured for a figure: throws recount::Error (unavailable) where it could not be drawn
/// then, since gnuplot is missing, does not start or lacks the terminal, or recount was built without
/// figures.
void check_drawable(Format format);

/// One file to draw.
struct Target {
  Format format = Format::pdf;
  std::string path; ///< "-": stdout; a regular file is replaced whole; anything else is written into
};

struct Options {
  double width = 3.33; ///< inches; from 2 to 20
  std::vector<Target> targets;
  std::optional<std::string> script; ///< also writes a gnuplot script that holds its data
};

struct Drawn {
  std::vector<std::string> files;    ///< what was written, cairolatex's second file included
  std::vector<std::string> warnings; ///< series that were not counted, multiplexing, missing fonts, ...
};

/// gnuplot is missing or failed, or recount was built without figures.
class CannotDraw : public Error {
public:
  explicit CannotDraw(const Error& error) : Error(error) {}
};

/// Draws a figure. Throws CannotDraw (unavailable) with the output of gnuplot, and recount::Error: bad_input
/// for a path that cannot be written, unavailable when the disk is full. No file is then left or replaced.
/// Never raises SIGPIPE. One call at a time per thread; starts a child process.
Drawn draw(const Sheet& sheet, const Options& options);

/// How large a text terminal is.
struct TextSize {
  long columns = 80, rows = 24;
  bool colour = false; ///< ANSI colours
};
/// The figure as text, for a terminal. Throws as draw() does.
[[nodiscard]] std::string draw_text(const Sheet& sheet, TextSize size = {});

// One curve over time as text, drawn again and again while it grows.

struct LivePoint {
  double begin = 0, end = 0; ///< seconds
  double value = 0;          ///< NaN: not counted, a gap
};
struct LiveMark {
  double time = 0; ///< seconds
  std::string label;
};
/// What is drawn, from `from` to `to` seconds.
struct LiveCurve {
  std::string title; ///< name and unit
  double from = 0, to = 1;
  std::vector<LivePoint> points;
  std::vector<LiveMark> marks;
};

/// Lines of the size of the terminal part given, with a line end each. Throws Error (unavailable) as draw()
/// does: when gnuplot is missing or fails.
[[nodiscard]] std::string draw_live(const LiveCurve& curve, TextSize size);

} // namespace recount::plot
