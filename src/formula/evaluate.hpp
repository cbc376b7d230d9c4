// Formulas as arithmetic, exactly as PAPI computes them.
#pragma once

#include "formula/rpn.hpp"

#include <span>

namespace recount::formula {

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
