#include "plot/sheet.hpp"

#include "plot/gnuplot.hpp"

#include <algorithm>
#include <cmath>

namespace recount::plot {
namespace {
/// Steps: a rate holds for the whole of its interval. A blank line breaks the curve.
GnuplotCode live_data(const LiveCurve& curve) {
  GnuplotCode text("$rate << EOD\n");
  for (const LivePoint& p : curve.points)
    text += std::isfinite(p.value)
                ? code("{:.17g} {:.17g}\n{:.17g} {:.17g}\n", p.begin, p.value, p.end, p.value)
                : GnuplotCode("\n");
  return text + Literal("EOD\n");
}

/// Without the lines at the start that show nothing: gnuplot reserves them for a title.
std::string without_blank_head(const std::string& text) {
  std::size_t begin = 0;
  bool escape = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') begin = i + 1;
    if (c == '\033') escape = true;
    if (!escape && c != ' ' && c != '\n' && c != '\f') return text.substr(begin);
    if (c == 'm') escape = false;
  }
  return {};
}

bool has_values(const LiveCurve& curve) {
  return std::ranges::any_of(curve.points, [](const LivePoint& p) { return std::isfinite(p.value); });
}
} // namespace

std::string draw_live(const LiveCurve& curve, TextSize size) {
  std::string text = draw_next([&](GnuplotWriter& gp) {
    gp << code("set terminal dumb noenhanced size {},{} {}\n", std::clamp(size.columns, 30L, 400L),
               std::clamp(size.rows, 8L, 200L), size.colour ? Literal("ansi256") : Literal("mono"));
    gp << "set encoding utf8\nunset key\nset title " << plot::quoted(curve.title) << "\n";
    gp << code("set xrange [{:.17g}:{:.17g}]\nset yrange [0:*]\nset tics nomirror out\nset border 3\n",
               curve.from, curve.to > curve.from ? curve.to : curve.from + 1);
    for (const LiveMark& mark : curve.marks) {
      gp << code("set arrow from {0:.17g}, graph 0 to {0:.17g}, graph 0.95 nohead lt 2\n", mark.time);
      if (!mark.label.empty())
        gp << "set label " << plot::quoted(mark.label)
           << code(" at {:.17g}, graph 1 left offset 2,0 tc lt 2\n", mark.time);
    }
    if (has_values(curve))
      gp << live_data(curve) << "plot $rate using 1:2 with lines lt 1\n";
    else
      gp << "set yrange [0:1]\nplot NaN notitle\n";
  });
  return without_blank_head(text) + "\n";
}

} // namespace recount::plot
