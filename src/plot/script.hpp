// The gnuplot script of a figure.
#pragma once

#include "plot/gnuplot.hpp"
#include "plot/layout.hpp"
#include "plot/plot_format.hpp"
#include "plot/sheet.hpp"

#include <string>
#include <vector>

namespace recount::plot {

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
