// From results to what a figure shows.
#pragma once

#include "plot/select.hpp"
#include "plot/sheet.hpp"

namespace recount::figure {

/// Throws recount::Error (bad_input), saying what the results hold and what the figure needs, when they
/// cannot fill it or would fill more panels than a page takes.
[[nodiscard]] Sheet compose(const Recipe& recipe, const result::Results& results, const Choice& choice);

} // namespace recount::figure
