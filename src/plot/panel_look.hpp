// One panel within its cell of the page.
#pragma once

#include "plot/layout.hpp"

namespace recount::plot {

/// From 0 where the values are near one another, else logarithmic. `plot`: where it will be drawn.
[[nodiscard]] Axis y_axis(const Panel& panel, const Box& plot, const Canvas& canvas);

/// As Panel::x_along; `length` of the axis in the units of the canvas.
[[nodiscard]] Axis x_axis(const Panel& panel, double length, const Canvas& canvas);

/// Where a sample is on the page.
[[nodiscard]] inline Vec place_of(const Sample& s, const PanelLook& look) {
  const Box& p = look.plot;
  return {p.left + look.x.place(s.x) * p.width(), p.bottom + look.y.place(s.y) * p.height()};
}

/// The names of the panel's levels beside their lines; one for several flat levels that are too near to one
/// another to be named each. `look` has the axes.
[[nodiscard]] std::vector<Note> level_notes(const Panel& panel, const PanelLook& look, const Canvas& canvas);

/// `key`: names are in a key even where labels would fit. `least_left`: the plot begins so far from the
/// left of its cell, so that panels one above the other begin alike.
[[nodiscard]] PanelLook look_of(const Panel& panel, const Box& cell, const Canvas& canvas, bool key,
                                double least_left = 0);

} // namespace recount::plot
