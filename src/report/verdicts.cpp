// Presets and events of the results that did not agree in recount check on the machine that counted them.
#include "report/build_report.hpp"

#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <map>

namespace recount::report {
namespace {

using Marks = std::map<std::string, std::string>;

Marks marks_of(const document::Part& part) {
  Marks all;
  for (const auto& run : part.results->runs)
    all.insert(run.verdicts.begin(), run.verdicts.end());
  return all;
}

/// Counts of whole programs, by program and metric; those of kernels are in the tables of their studies.
using Counts = std::map<std::pair<std::string, std::string>, std::vector<double>>;

Counts marked_counts(const document::Part& part, const Marks& marks) {
  Counts all;
  for (const auto& o : part.results->observations) {
    if (!marks.contains(o.metric) || o.witness.starts_with("model") || o.params.contains("interval"))
      continue;
    const auto command = o.params.find("command");
    const bool program = o.kernel == "command" && command != o.params.end();
    const auto* const name = program ? std::get_if<std::string>(&command->second) : nullptr;
    auto& counts = all[{o.metric, name ? *name : "kernel " + o.kernel}];
    if (const auto value = result::as_double(o.value); value && name) counts.push_back(*value);
  }
  return all;
}

} // namespace

std::vector<document::Block> verdicts_section(const std::vector<document::Part>& parts) {
  std::vector<document::Block> blocks;
  for (const document::Part& part : parts) {
    const Marks marks = marks_of(part);
    document::Table table{"Counts to be read with these verdicts of recount check: " + part.machine,
                          {{"preset or event", false}, {"counted in", false}, {"median"}, {"verdict", false}},
                          {}};
    for (const auto& [place, counts] : marked_counts(part, marks))
      table.rows.push_back({place.first, place.second,
                            counts.empty() ? "-" : fmt::format("{:.0f}", statistics::median(counts)),
                            marks.at(place.first)});
    if (!table.rows.empty()) blocks.emplace_back(std::move(table));
  }
  return document::under("Verdicts", std::move(blocks));
}

void mark_tables(std::vector<document::Block>& blocks, const std::vector<document::Part>& parts) {
  Marks marks;
  for (const document::Part& part : parts)
    marks.merge(marks_of(part));
  const auto mark = [&](std::string& cell) {
    if (const auto found = marks.find(cell); found != marks.end()) cell += " (" + found->second + ")";
  };
  for (auto& block : blocks)
    if (auto* const table = std::get_if<document::Table>(&block)) {
      for (auto& column : table->columns)
        mark(column.head);
      for (auto& row : table->rows)
        for (auto& cell : row)
          mark(cell);
    }
}

} // namespace recount::report
