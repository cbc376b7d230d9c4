// Formulas as algebra: a preset is a quotient of two polynomials over its native events.
#pragma once

#include "base/formula/expression.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

namespace recount::formula {

/// An index into the caller's list of events, or the clock: max_mhz * 10^6.
using Variable = int;
inline constexpr Variable clock_variable = -1;

/// Powers of variables, sorted by variable; empty for the constant.
using Monomial = std::vector<std::pair<Variable, int>>;

/// A sum of monomials with whole coefficients; none of them 0.
using Polynomial = std::map<Monomial, std::int64_t>;

/// Not reduced. The denominator is never the zero polynomial.
struct Quotient {
  Polynomial numerator, denominator;
};

/// A sum of whole multiples of variables, plus a constant.
struct Linear {
  std::map<Variable, std::int64_t> coefficients;
  std::int64_t constant = 0;
  friend bool operator==(const Linear&, const Linear&) = default;
};

/// The four operations. No value when a coefficient leaves 64 bits, when there are more than 512 monomials,
/// or on division by what is always zero.
[[nodiscard]] std::optional<Quotient> combine(const Quotient& a, const Quotient& b, Op op);
[[nodiscard]] Quotient variable(Variable v);
[[nodiscard]] Quotient number(std::int64_t n);

/// Evaluates a formula: N0 is the first operand, and so on. No value if the formula does not leave exactly
/// one value, uses an N without an operand, or exceeds the limits of combine().
[[nodiscard]] std::optional<Quotient> meaning(const Rpn& rpn, std::span<const Quotient> operands);

/// The linear form of a quotient; none if it is not linear with integer coefficients.
[[nodiscard]] std::optional<Linear> linear(const Quotient& q);

/// Whether two quotients are equal wherever both are defined; no value if the products exceed the limits.
[[nodiscard]] std::optional<bool> equal(const Quotient& a, const Quotient& b);

/// a - b.
[[nodiscard]] Linear difference(const Linear& a, const Linear& b);
/// "2*A - B", "0".
[[nodiscard]] std::string to_text(const Linear& form, const std::vector<std::string>& names);

} // namespace recount::formula
