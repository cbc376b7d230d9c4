#include "stat/plan.hpp"

#include <algorithm>

namespace recount::stat {
namespace {

std::string mark_of(const Operand& operand, const verdict::Marks& marks) {
  if (const auto& preset = operand.asked.preset) return marks.of(preset->written.name);
  return marks.of(operand.name, operand.asked.events);
}

} // namespace

void mark_rows(Plan& plan, const verdict::Marks& marks) {
  if (marks.empty()) return;
  for (PlanRow& row : plan.rows)
    for (const Operand& operand : row.operands) {
      std::string mark = mark_of(operand, marks);
      if (mark.empty()) continue;
      if (row.kind == RowKind::metric) mark = operand.name + ": " + mark;
      row.mark += (row.mark.empty() ? "" : "; ") + mark;
    }
}

std::map<std::string, std::string> row_marks(const Plan& plan) {
  std::map<std::string, std::string> all;
  for (const PlanRow& row : plan.rows)
    if (!row.mark.empty()) all.emplace(row.name, row.mark);
  return all;
}

} // namespace recount::stat
