// Figures of matrix products: time, rate, misses and what follows from them, by size and by block.
#pragma once

#include "plot/figure.hpp"
#include "plot/sheet.hpp"

namespace recount::figure {

/// All of them, in the order in which a reader would look at them.
[[nodiscard]] std::vector<Figure> product_figures();

/// One of them; without panels where the results cannot fill it.
[[nodiscard]] Sheet compose_products(const std::string& name, const result::Results& results,
                                     const Choice& choice);

} // namespace recount::figure
