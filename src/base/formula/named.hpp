// Formulas over named quantities, in infix notation: (PAPI_LD_INS + PAPI_SR_INS) / PAPI_TOT_CYC
#pragma once

#include "base/formula/expression.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recount::formula {

/// An operand: N0 of the formula is the first.
struct Quantity {
  std::string name;  ///< empty: a number
  double number = 0; ///< of a number
};

/// A parsed formula. Operators are + - * / with the usual precedence, left to right; parentheses;
/// numbers with or without a fraction or an exponent. A name is a word of letters, digits, _ . and :, not
/// beginning with a digit; any other is written in double quotes: "perf::PAGE-FAULTS", "msr/tsc/".
struct Named {
  Rpn rpn;
  std::vector<Quantity> quantities; ///< each name once
  std::string fault;                ///< why it cannot be parsed, one clause; empty: it can be
  std::size_t fault_at = 0;         ///< position of the fault in the text
};
[[nodiscard]] Named parse_named(std::string_view text);

/// The value of a formula over real numbers, one operand for each N; or why it has none: division by 0,
/// overflow.
struct Real {
  std::optional<double> value;
  std::string why;
};
[[nodiscard]] Real evaluate_real(const Rpn& rpn, std::span<const double> operands);

} // namespace recount::formula
