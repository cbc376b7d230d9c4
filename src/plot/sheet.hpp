// The contents of a figure before layout: panels of series, and the caption.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace recount::plot {

/// One point of a series; y is NaN where nothing was counted, which breaks the line.
struct Sample {
  double x = 0, y = 0, low = 0, high = 0; ///< low and high bound the band
};

struct Series {
  std::string label, compact; ///< compact: the same in fewer characters. None: unlabelled
  std::vector<Sample> samples;
  bool modelled = false; ///< drawn dashed with open markers, and called so
  bool band = false;     ///< the points are medians of several repetitions
  enum class Look { curve, points, level } look = Look::curve; ///< level: a limit, thin and grey, no markers
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
  bool y_decades = false;  ///< logarithmic where the values differ much, tics at powers of ten
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
  bool caption_is_key = false; ///< the pieces explain the figure ("1 main: 40 %"): all of them are in it
  std::vector<std::string> warnings; ///< for stderr, whole sentences
};

} // namespace recount::plot
