// Whether gnuplot could draw a format: asked before something is measured for it.
#include "plot/figure.hpp"
#include "plot/gnuplot.hpp"
#include "plot/layout.hpp"

namespace recount::plot {

void check_drawable(Format format) {
  Layout layout;
  layout.width = 240;
  layout.height = 160;
  run_gnuplot([&](auto& gp) { gp << "set terminal " << terminal(format, layout, false) << "\n"; });
}

} // namespace recount::plot
