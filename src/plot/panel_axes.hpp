// The axes of a panel: the scale that suits its data.
#pragma once
#include "plot/layout.hpp"

namespace recount::plot {

/// From 0 where the values are near one another, else logarithmic. `plot`: where it will be drawn.
[[nodiscard]] Axis y_axis(const Panel& panel, const Box& plot, const Canvas& canvas);

/// As Panel::x_along; `length` of the axis in the units of the canvas.
[[nodiscard]] Axis x_axis(const Panel& panel, double length, const Canvas& canvas);

} // namespace recount::plot
