// Figures of matrix products: time, rate, misses and what follows from them, by size and by block.
#pragma once

#include "plot/sheet.hpp"

namespace recount::matmul {

/// All of them, in the order in which a reader would look at them.
[[nodiscard]] std::vector<plot::Figure> product_figures();

/// One of them; without panels where the results cannot fill it.
[[nodiscard]] plot::Sheet compose_products(const std::string& name, const result::Results& results,
                                           const plot::Choice& choice);

} // namespace recount::matmul
