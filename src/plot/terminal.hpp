// gnuplot settings that draw a format at its true size.
#pragma once

#include "plot/figure.hpp"
#include "plot/gnuplot_code.hpp"
#include "plot/layout.hpp"

namespace recount::plot {

/// The canvas that a format offers at this width in inches; text takes the size of the terminal instead.
[[nodiscard]] Canvas canvas_of(Format format, double inches, TextSize text = {});

/// "set terminal ..." for a figure of the layout's size. Fonts come out at their size in points, PNG at 300
/// dots an inch, SVG at the 96 of CSS.
[[nodiscard]] GnuplotCode terminal(Format format, const Layout& layout, bool colour);

/// Factor on the size of markers, which differs between terminals.
[[nodiscard]] double marker_scale(Format format);

} // namespace recount::plot
