// Figures of matrix products against the size of a block, of the laboratory, and the roofline.
#pragma once

#include "matmul/figures_series.hpp"

namespace recount::matmul {

void blocks_figure(ProductSheet& sheet, const std::vector<Products>& groups);
void block_misses_figure(ProductSheet& sheet, const std::vector<Products>& groups);
void lab_figure(ProductSheet& sheet, const std::vector<Products>& groups);
void roofline_figure(ProductSheet& sheet, const std::vector<Products>& groups);

} // namespace recount::matmul
