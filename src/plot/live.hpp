// One curve over time as text, drawn again and again while it grows.
#pragma once

#include "plot/sheet.hpp"

#include <string>
#include <vector>

namespace recount::plot {

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
