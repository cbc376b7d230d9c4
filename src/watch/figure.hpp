// The figure of a watch: rates over time, one panel per metric, with shaded sections.
#pragma once

#include "plot/figure.hpp"
#include "plot/sheet.hpp"

namespace recount::figure {

/// Of the first repetition of the first run that has intervals. Throws Error (bad_input) where there are
/// none.
[[nodiscard]] Sheet compose_over_time(const result::Results& results, const Choice& choice);

/// The figure "trace".
[[nodiscard]] Figure trace_figure();

} // namespace recount::figure
