// The panels of a figure from results.
#pragma once

#include "plot/select.hpp"
#include "plot/sheet.hpp"

namespace recount::plot {

/// Throws recount::Error (bad_input), naming the contents of the results and the needs of the figure, when
/// they cannot fill it or would have more panels than fit on a page.
[[nodiscard]] Sheet compose(const Recipe& recipe, const result::Results& results, const Choice& choice);

} // namespace recount::plot
