// Transformations of a loop nest: loops in another order or in blocks, rows with padding.
#pragma once

#include "nest/definition.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace recount::nest {

/// Indices into perfect_loops(), new outermost loop first.
using Order = std::vector<std::size_t>;

/// All orders in which the bounds of each loop depend only on the loops around it; the written order is
/// first. Only the `most` outermost loops are exchanged.
[[nodiscard]] std::vector<Order> orders(const Definition& nest, std::size_t most);
/// "ikj"; "ii-i-k" if a variable has more than one letter.
[[nodiscard]] std::string name(const Definition& nest, const Order& order);

struct Form {
  Order order;              ///< all perfect loops
  std::int64_t tile = 0;    ///< iterations per block of each perfect loop; 0: no blocks
  std::int64_t padding = 0; ///< unused elements after each row of arrays with two or more dimensions

  [[nodiscard]] bool reorders() const;
};

struct Transformed {
  Definition nest;
  std::vector<std::size_t> variables; ///< the new number of each variable
};

/// Does not check that the result computes the same: see find_broken_dependence(). Throws recount::Error
/// (bad_input): blocks without a loop around all statements, of loops whose bounds depend on one another or
/// have a min(), or with more than model::nest_depth nested loops; padding without an array of two or more
/// dimensions.
[[nodiscard]] Transformed transform(const Definition& nest, const Form& form);

// Whether a transformed loop nest computes the same as the written one.

/// Two executions of statements that access the same element or scalar, one of them by a store, must keep
/// their order. Describes a pair that `changed` exchanges; empty: none. Exact at the point (integer
/// relations, by isl). `variables`: the number in `changed` of each variable of `written`. Throws
/// recount::Error (bad_input) if it takes too long.
[[nodiscard]] std::string find_broken_dependence(const Point& written, const Point& changed,
                                                 const std::vector<std::size_t>& variables);

} // namespace recount::nest
