// Conditions between parameters: --where 'stride<=size/2'.
#pragma once

#include "kernel/kernel.hpp"
#include "result/observation.hpp"

#include <cstdint>
#include <string>

namespace recount::sweep {

/// One side of a condition: NAME, NAME/N, NAME*N or a number.
struct Term {
  std::string name; ///< empty: the number `factor` alone
  std::int64_t factor = 1;
  bool divided = false; ///< NAME/N: the value divided by the factor, exactly (not rounded)
};

/// TERM OP TERM, OP being <=, <, >=, >, = or !=. Points that do not fulfil it are left out of the grid.
struct Condition {
  std::string text; ///< as given, without blanks
  Term left, right;
  std::string op;
  /// Whether a complete point fulfils it. Pure.
  [[nodiscard]] bool holds(const result::Params& point) const;
};

/// Throws recount::Error (bad_input) when it does not read so, or names no number parameter of the kernel.
[[nodiscard]] Condition parse_condition(const kernel::Kernel& kernel, const std::string& text);

} // namespace recount::sweep
