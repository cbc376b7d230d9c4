// The caption under a figure and the warnings beside it.
#pragma once

#include "figure/select.hpp"
#include "figure/sheet.hpp"

namespace recount::figure {

/// Fills in caption and warnings: machines, statistics, what was not counted, multiplexed or in doubt.
void write_small_print(Sheet& sheet, const result::Results& results, const Selected& selected);

} // namespace recount::figure
