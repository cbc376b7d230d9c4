// Formulas in reverse Polish notation, as PAPI's derived events write them: N0|N1|+|
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recount::formula {

enum class Op { native, number, clock, add, sub, mul, div };

/// One step: push a count, a number or the clock (max MHz * 10^6), or combine the two on top.
struct Step {
  Op op;
  int value = 0; ///< of native: its index; of number: the number
};

/// Why a text ends early.
enum class Flaw {
  none,
  digits,   ///< N without digits, or 16 digits and more: PAPI's assertion fails
  character ///< not part of the notation: PAPI stops there and returns the bottom of the stack
};

struct Rpn {
  std::vector<Step> steps;
  Flaw flaw = Flaw::none;
};

/// Splits a text into steps as PAPI does: `|` separates but is optional. Any bytes.
[[nodiscard]] Rpn parse_rpn(std::string_view text);

/// Evaluates a formula on a stack of any type: `operand(step)` gives the value of an operand and
/// `combine(a, b, op)` that of an operation; both are optional. No value for a flawed text, without one of
/// these values, or when the formula does not leave exactly one.
template <class T, class Operand, class Combine>
[[nodiscard]] std::optional<T> fold(const Rpn& rpn, const Operand& operand, const Combine& combine) {
  if (rpn.flaw != Flaw::none) return {};
  std::vector<T> stack;
  for (const Step& step : rpn.steps) {
    std::optional<T> value;
    if (step.op == Op::native || step.op == Op::number || step.op == Op::clock) {
      value = operand(step);
    } else if (stack.size() >= 2) {
      const T right = std::move(stack.back());
      stack.pop_back();
      value = combine(stack.back(), right, step.op);
      stack.pop_back();
    }
    if (!value) return {};
    stack.push_back(*std::move(value));
  }
  return stack.size() == 1 ? std::optional<T>(std::move(stack.front())) : std::nullopt;
}

/// Infix converted to RPN.
struct Conversion {
  std::string postfix;
  bool crashes = false;  ///< an unmatched `)`: PAPI underflows its stack
  bool too_long = false; ///< exceeds PAPI's buffer of 2048 bytes
};
/// As PAPI converts it, right-associative: N0-N1-N2 becomes N0-(N1-N2).
[[nodiscard]] Conversion infix_to_postfix(std::string_view infix);
/// With the usual left-associativity.
[[nodiscard]] std::string infix_to_postfix_left(std::string_view infix);

/// A formula in infix notation with as few parentheses as needed: "(a + b) * 3". Empty when the formula does
/// not leave exactly one value. Indices beyond the names are printed as N<i>.
[[nodiscard]] std::string to_infix(const Rpn& rpn, const std::vector<std::string>& names);

/// The value of one of the four operations.
[[nodiscard]] double apply(double a, double b, Op op) noexcept;

} // namespace recount::formula
