// A teacher's view of the tables of many groups: a verdict for each, with the row and column behind it.
#pragma once

#include "commands/explain/explanation.hpp"

#include <string>
#include <vector>

namespace recount::explain {

/// A verdict is stated only where the values exclude the opposite; the first of these that applies is that of
/// a table.
enum class Verdict {
  same_values, ///< as another table: one of them was copied, or both
  exchanged,   ///< columns, labels or rows
  slip,        ///< a digit or a unit is wrong
  implausible, ///< no program on any machine has such a value
  repeated,    ///< one value in two places
  other_loops, ///< rows are not of the loops that they name
  undecided,   ///< no hypothesis explains the counts, or there are too few
  consistent,
};
/// "exchanged".
[[nodiscard]] std::string verdict_text(Verdict verdict);

struct Mark {
  Verdict verdict;
  std::string place; ///< row and column: "line, n = 1400, l2_dcm"
  std::string text;  ///< "10 times too small"
};

struct Grade {
  std::string table;       ///< Group::name
  std::vector<Mark> marks; ///< by verdict; at least one
};

/// One per group, in their order; `explanations`: of these. Pure.
[[nodiscard]] std::vector<Grade> grade(const std::vector<Group>& groups,
                                       const std::vector<Explanation>& explanations);

} // namespace recount::explain
