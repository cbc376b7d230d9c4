// Formulas as algebra: a preset is a quotient of two polynomials over its native events.
#pragma once

#include "formula/expression.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

namespace recount::formula {

/// Which unknown: an index into the caller's list of events. `clock` is max_mhz * 10^6.
using Variable = int;
inline constexpr Variable clock_variable = -1;

/// Powers of variables, sorted by variable; empty for the constant.
using Monomial = std::vector<std::pair<Variable, int>>;

/// A sum of monomials with whole coefficients; none of them 0.
using Polynomial = std::map<Monomial, std::int64_t>;

/// over / under. Not reduced; `under` is never the zero polynomial.
struct Quotient {
  Polynomial over, under;
};

/// A sum of whole multiples of variables, plus a constant.
struct Linear {
  std::map<Variable, std::int64_t> of;
  std::int64_t constant = 0;
  friend bool operator==(const Linear&, const Linear&) = default;
};

/// The four operations. No value when a coefficient leaves 64 bits, when there are more than 512 monomials,
/// or on division by what is always zero.
[[nodiscard]] std::optional<Quotient> combine(const Quotient& a, const Quotient& b, Op op);
[[nodiscard]] Quotient variable(Variable v);
[[nodiscard]] Quotient number(std::int64_t n);

/// The expression of a formula over whole expressions: N0 is the first, and so on. No value when it does not
/// leave exactly one value, uses an N without an operand, or grows too large.
[[nodiscard]] std::optional<Quotient> meaning(const Rpn& rpn, std::span<const Quotient> operands);

/// As a linear form, when it is one with whole coefficients.
[[nodiscard]] std::optional<Linear> linear(const Quotient& q);

/// Whether two quotients are equal wherever both are defined; no value when that grows too large.
[[nodiscard]] std::optional<bool> equal(const Quotient& a, const Quotient& b);

/// a - b, and how it reads: "2*A - B", "0".
[[nodiscard]] Linear difference(const Linear& a, const Linear& b);
[[nodiscard]] std::string to_text(const Linear& form, const std::vector<std::string>& names);

} // namespace recount::formula
