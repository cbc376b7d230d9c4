// The figure of a watch: rates over time, one panel per metric, with shaded sections.
#pragma once

#include "plot/sheet.hpp"

namespace recount::watch {

/// Of the first repetition of the first run that has intervals. Throws Error (bad_input) where there are
/// none.
[[nodiscard]] plot::Sheet compose_over_time(const result::Results& results, const plot::Choice& choice);

/// The figure "trace".
[[nodiscard]] plot::Figure trace_figure();

} // namespace recount::watch
