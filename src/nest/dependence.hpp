// Whether a transformed loop nest computes the same as the written one.
#pragma once

#include "nest/nest_point.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace recount::nest {

/// Two executions of statements that access the same element or scalar, one of them by a store, must keep
/// their order. Describes a pair that `changed` exchanges; empty: none. Exact at the point (integer
/// relations, by isl). `variables`: the number in `changed` of each variable of `written`. Throws
/// recount::Error (bad_input) if it takes too long.
[[nodiscard]] std::string find_broken_dependence(const Point& written, const Point& changed,
                                                 const std::vector<std::size_t>& variables);

} // namespace recount::nest
