// Other forms of a loop nest: loops in another order, in blocks, rows with padding.
#pragma once

#include "nest/definition.hpp"
#include "nest/nest_point.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace recount::nest {

/// The loops from the outermost one on of which each holds nothing but the next one, and the body of the last
/// one. Nothing if the nest does not consist of one loop.
[[nodiscard]] std::vector<const Loop*> perfect_loops(const Definition& nest);

/// Positions of the perfect loops, from the outermost of the new order on.
using Order = std::vector<std::size_t>;

/// All orders in which the bounds of each loop depend on loops around it only; the first is the written one.
/// At most `most` loops are exchanged, from the outermost on.
[[nodiscard]] std::vector<Order> orders(const Definition& nest, std::size_t most);
/// "ikj"; "ii-i-k" if a variable has more than one letter.
[[nodiscard]] std::string name(const Definition& nest, const Order& order);

struct Form {
  Order order;              ///< all perfect loops
  std::int64_t tile = 0;    ///< turns per block of each perfect loop; 0: no blocks
  std::int64_t padding = 0; ///< unused elements behind each row of each array of several dimensions

  [[nodiscard]] bool reorders() const;
};

struct Transformed {
  Definition nest;
  std::vector<std::size_t> variables; ///< the new number of each variable
};

/// Statements keep their order in the text. That they compute the same is for broken_dependence() to say.
/// Throws recount::Error (bad_input): blocks without a loop around all statements, of loops whose bounds
/// depend on one another or end at a min(), more loops around a statement than model::nest_depth; padding
/// without an array of several dimensions.
[[nodiscard]] Transformed transformed(const Definition& nest, const Form& form);

// Whether another form of a loop nest computes the same.

/// Two executions of statements that access the same element or scalar, one of them storing, must keep their
/// order. Exact at the point: relations of whole numbers (isl, the integer set library). Returns the first
/// such pair that `changed` exchanges, in words, or nothing. `variables`: the number in `changed` of each
/// variable of `written`. Throws recount::Error (bad_input) if the decision takes too long.
[[nodiscard]] std::string broken_dependence(const Point& written, const Point& changed,
                                            const std::vector<std::size_t>& variables);

} // namespace recount::nest
