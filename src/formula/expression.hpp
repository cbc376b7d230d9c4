// Formulas in reverse Polish notation, as PAPI's derived events write them: N0|N1|+|
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recount::formula {

enum class Op { native, number, clock, add, sub, mul, div };

/// One step: push a count, a number or the clock (max MHz * 10^6), or combine the two on top.
struct Step {
  Op op;
  int value = 0;      ///< of native: its index; of number: the number
  std::size_t at = 0; ///< its position in the text
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
  std::size_t flaw_at = 0;
};

/// Takes a text apart as PAPI does: `|` separates but need not be there. Any bytes.
[[nodiscard]] Rpn parse_rpn(std::string_view text);

/// An infix text turned into RPN as PAPI does, right-associative: N0-N1-N2 becomes N0-(N1-N2).
struct Conversion {
  std::string postfix;
  bool crashes = false;  ///< a `)` without its `(`: PAPI runs off its stack
  bool too_long = false; ///< more than PAPI's buffer of 2048 bytes takes
};
[[nodiscard]] Conversion infix_to_postfix(std::string_view infix);

/// The same with the usual left-associativity, for telling whether the difference matters. Unbalanced
/// parentheses are taken as `infix_to_postfix` takes them, minus the crash.
[[nodiscard]] std::string infix_to_postfix_left(std::string_view infix);

/// A formula in the notation of school, with as few parentheses as needed: "(a + b) * 3". Empty when the
/// formula does not leave exactly one value. Names beyond the list are printed N<i>.
[[nodiscard]] std::string to_infix(const Rpn& rpn, const std::vector<std::string>& names);

// Formulas as arithmetic, exactly as PAPI computes them.

enum class Ending {
  value,
  dies,     ///< an assertion or a trap ends the process
  undefined ///< memory that holds no counter is read
};

struct Outcome {
  Ending ending = Ending::value;
  long long value = 0;
  bool divided_by_zero = false;
  bool out_of_range = false; ///< the double does not fit a long long
  bool unreadable = false;   ///< a character ended the formula early
  std::string why;           ///< for dies and undefined
};

struct Limits {
  int slots = 8;   ///< counters a preset may have, which is also the depth of the stack
  int max_mhz = 0; ///< what `#` stands for, in MHz
};

/// Runs a formula over counts: doubles, truncated at the end.
[[nodiscard]] Outcome evaluate(const Rpn& rpn, std::span<const long long> counts, const Limits& limits);

/// A double as a long long, as this CPU converts it: outside the range of long long, and for NaN, x86 gives
/// the smallest number, arm64 saturates and makes NaN 0. (The language leaves it undefined.)
[[nodiscard]] long long truncate(double value) noexcept;
[[nodiscard]] bool fits(double value) noexcept; ///< whether truncation is defined

} // namespace recount::formula
