// Presets and events of the results that did not agree in recount check on the machine that counted them.
#include "report/build_report.hpp"

#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>

namespace recount::report {
namespace {

using Marks = std::map<std::string, std::string>;

Marks marks_of(const document::Part& part) {
  Marks all;
  for (const auto& run : part.results->runs)
    all.insert(run.verdicts.begin(), run.verdicts.end());
  return all;
}

/// The marks that hold on every machine: a table may show several.
Marks common_marks(const std::vector<document::Part>& parts) {
  Marks common;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Marks here = marks_of(parts[i]);
    if (i == 0) common = here;
    std::erase_if(common, [&](const auto& mark) {
      const auto found = here.find(mark.first);
      return found == here.end() || found->second != mark.second;
    });
  }
  return common;
}

/// What a program was counted to by one witness; without values: not counted. Counts of kernels are in the
/// tables of their studies.
struct Counted {
  bool program = false;
  std::vector<double> values;
};
using Counts = std::map<std::tuple<std::string, std::string, std::string>, Counted>; // metric, place, witness

Counts marked_counts(const document::Part& part, const Marks& marks) {
  Counts all;
  for (const auto& o : part.results->observations) {
    if (!marks.contains(o.metric) || o.witness.starts_with("model") || o.params.contains("interval"))
      continue;
    const auto command = o.params.find("command");
    const bool program = o.kernel == "command" && command != o.params.end();
    const auto* const name = program ? std::get_if<std::string>(&command->second) : nullptr;
    auto& counted = all[{o.metric, name ? *name : "kernel " + o.kernel, o.witness}];
    counted.program = name != nullptr;
    if (const auto value = result::as_double(o.value); value && name) counted.values.push_back(*value);
  }
  return all;
}

std::string shown(const Counted& counted) {
  if (!counted.program) return "-";
  return counted.values.empty() ? "not counted" : fmt::format("{:.0f}", statistics::median(counted.values));
}

} // namespace

std::vector<document::Block> verdicts_section(const std::vector<document::Part>& parts) {
  std::vector<document::Block> blocks;
  for (const document::Part& part : parts) {
    const Marks marks = marks_of(part);
    document::Table table{"Counts to be read with these verdicts of recount check: " + part.machine,
                          {{"preset or event", false},
                           {"counted in", false},
                           {"witness", false},
                           {"median"},
                           {"verdict", false}},
                          {}};
    for (const auto& [place, counted] : marked_counts(part, marks)) {
      const auto& [metric, where, witness] = place;
      table.rows.push_back({metric, where, witness, shown(counted), marks.at(metric)});
    }
    if (!table.rows.empty()) blocks.emplace_back(std::move(table));
  }
  return document::under("Verdicts", std::move(blocks));
}

void mark_tables(std::vector<document::Block>& blocks, const std::vector<document::Part>& parts) {
  const Marks marks = common_marks(parts);
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
