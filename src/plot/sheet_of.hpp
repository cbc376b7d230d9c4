// The sheet of any figure, by its name.
#pragma once

#include "plot/figure.hpp"
#include "plot/sheet.hpp"

namespace recount::figure {

/// Throws recount::Error (bad_input) for an unknown figure, and for results that cannot fill it.
[[nodiscard]] Sheet sheet_of(const std::string& name, const result::Results& results, const Choice& choice);

} // namespace recount::figure
