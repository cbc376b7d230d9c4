// Loop nests of matrix products in any order of their loops.
#pragma once

#include "model/nest.hpp"
#include "model/placement.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace recount::explain {

/// c += a * b for n x n doubles whose first element is 16 bytes from a page boundary, as malloc() returns it.
/// `order`: a permutation of i, j and k, the outermost first; if k is innermost, the sum is kept in a
/// register; "2" behind it: two steps of k at a time. `block` > 0: square blocks, visited in the order of
/// ii, jj and kk, inside of them `order`. Bases of the matrices: model::array_base().
[[nodiscard]] model::Nest product_nest(const std::string& order, std::int64_t n, std::int64_t block,
                                       const std::optional<model::Placement>& placement);

/// A way to write a product, other than as its row is called.
struct LoopOrder {
  const char* order;
  const char* text;
};
[[nodiscard]] std::span<const LoopOrder> loop_orders();

} // namespace recount::explain
