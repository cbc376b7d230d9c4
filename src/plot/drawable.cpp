#include "plot/figure.hpp"
#include "plot/gnuplot.hpp"
#include "plot/layout.hpp"
#include "plot/terminal.hpp"

#include <gnuplot-iostream.h>

namespace recount::figure {

void check_drawable(Format format) {
  const std::string command = terminal(format, {}, false);
  run_gnuplot([&](auto& gp) { gp << "set terminal " << command.substr(0, command.find(' ')) << "\n"; });
}

} // namespace recount::figure
