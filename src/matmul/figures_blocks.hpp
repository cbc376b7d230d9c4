// Figures of matrix products against the size of a block, of the laboratory, and the roofline.
#pragma once

#include "matmul/figures_series.hpp"

namespace recount::figure {

void blocks_figure(ProductSheet& sheet, const std::vector<analysis::Products>& groups);
void block_misses_figure(ProductSheet& sheet, const std::vector<analysis::Products>& groups);
void lab_figure(ProductSheet& sheet, const std::vector<analysis::Products>& groups);
void roofline_figure(ProductSheet& sheet, const std::vector<analysis::Products>& groups);

} // namespace recount::figure
