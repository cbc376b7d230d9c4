// What a table of counts shows about itself, without any machine.
#pragma once

#include "explain/measured.hpp"

#include <string>
#include <vector>

namespace recount::explain {

/// Something that is wrong with a table, or that limits what it can show.
struct TableFinding {
  enum class Kind { digit_lost, digit_added, copied, outlier, rotated, rounded, more_than_l1 };
  Kind kind;
  std::string metric; ///< of the first cell
  std::vector<Cell> cells;
  std::string text; ///< one sentence
};

/// In the order of the kinds. Pure.
[[nodiscard]] std::vector<TableFinding> check_table(const Group& group);

/// Whether the value of a cell is wrong by a finding: a digit lost or added.
[[nodiscard]] bool is_mistaken(const std::vector<TableFinding>& findings, const std::string& metric,
                               const Cell& cell);

/// Half a unit of the last significant digit of the values of a column, as a share; 0 for more than 6 digits.
[[nodiscard]] double rounding(const Column& column);

} // namespace recount::explain
