#include "stat/plan.hpp"

#include "errata/errata.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

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

std::string errata_note(const Plan& plan, const host::Cpu& cpu) {
  std::vector<std::pair<std::string, std::string>> events; // by erratum, in the order of the plan
  for (const Event& event : plan.events)
    for (const auto* const erratum : errata::of_event(event, cpu)) {
      const auto known = std::ranges::find(events, erratum->number, &decltype(events)::value_type::first);
      if (known == events.end())
        events.emplace_back(erratum->number, event.name);
      else
        known->second += ", " + event.name;
    }
  std::string text;
  for (const auto& [number, names] : events)
    text += fmt::format("{}{} ({})", text.empty() ? "" : "; ", number, names);
  return text.empty() ? text : "errata of this CPU concern these events: " + text + "; see recount doctor";
}

} // namespace recount::stat
