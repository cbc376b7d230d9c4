// Whether another form of a loop nest computes the same.
#pragma once

#include "nest/nest_point.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace recount::nest {

/// Two executions of statements that access the same element or scalar, one of them storing, must keep their
/// order. Exact at the point: relations of whole numbers (isl, the integer set library). Returns the first
/// such pair that `changed` exchanges, in words, or nothing. `variables`: the number in `changed` of each
/// variable of `written`. Throws recount::Error (bad_input) if the decision takes too long.
[[nodiscard]] std::string broken_dependence(const Point& written, const Point& changed,
                                            const std::vector<std::size_t>& variables);

} // namespace recount::nest
