// The text of plots/style.gp, so that a script holds everything it needs.
#pragma once

#include "plot/gnuplot.hpp"

namespace recount::plot {

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

} // namespace recount::plot
