#include "commands/report/build_report.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "base/witness.hpp"
#include "run/result/curves.hpp"
#include "show/document/groups.hpp"
#include "show/plot/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace recount::report {
namespace {

/// A row for each metric of each command; one that was not counted has its reason.
std::optional<show::Table> metrics_table(const document::Part& part, bool full) {
  show::Table table(
      {{"command"}, {"metric"}, {"witness"}, show::number("runs"), show::number("median"), {"unit"}},
      "Counts of programs");
  if (full) table.columns.insert(std::prev(table.columns.end()), show::number("95 % interval"));
  const auto whole = [](const auto& o) { return o.kernel == "command" && !plot::in_interval(o); };
  const auto groups = sweep::sweep_groups(*document::only(part, whole).results);
  for (const sweep::SweepGroup& group : groups) {
    std::vector<std::string> row{result::word(group.params, "command"), group.metric,
                                 base::format_witness(group.witness), std::to_string(group.values.size())};
    if (group.summary) {
      const auto& s = *group.summary;
      row.push_back(base::format_number(s.value));
      if (full)
        row.push_back(s.low < s.high
                          ? fmt::format("{} to {}", base::format_number(s.low), base::format_number(s.high))
                          : "-");
    } else if (full) {
      row.insert(row.end(), {"not counted", group.reason->text()});
    } else {
      continue; // the section of what was not counted has the reason
    }
    row.push_back(is_seconds(group.metric) ? "s" : group.unit);
    table.add(row);
  }
  if (table.rows.empty()) return {};
  table.data = sweep::sweep_data(groups);
  return table;
}

/// The functions of one metric, the first ones by occurrences. Shares are of all samples: of some the place
/// is unknown.
std::optional<show::Table> functions_table(const document::Part& part, const std::string& metric,
                                           std::size_t max_functions) {
  std::map<std::pair<std::string, std::string>, double> functions; // name and module
  double located = 0, total = 0;
  std::string unit;
  std::set<Witness> witnesses;
  for (const auto& o : part.results->observations) {
    const auto value = result::value(o);
    if (!plot::is_profile(o) || o.metric != metric || !value) continue;
    unit = o.unit;
    if (!o.params.contains("address")) {
      total += *value;
      continue;
    }
    const std::string function = result::word(o.params, "function");
    functions[{function.empty() ? "(unknown)" : function, result::word(o.params, "module")}] += *value;
    located += *value;
    witnesses.insert(o.witness);
  }
  const double all = std::max(located, total);
  if (located <= 0) return {};
  std::vector<std::pair<double, std::pair<std::string, std::string>>> sorted;
  for (const auto& [name, value] : functions)
    sorted.emplace_back(value, name);
  std::ranges::stable_sort(sorted, std::greater{}, [](const auto& row) { return row.first; });
  show::Table table(
      {{"function"}, {"object"}, show::number(unit.empty() ? "occurrences" : unit), show::number("share")},
      fmt::format("Functions with most occurrences: {}, {}", metric,
                  base::format_witness(*witnesses.begin())));
  for (const auto& [value, name] : sorted) {
    if (table.rows.size() == max_functions) {
      table.notes.push_back(fmt::format("{} of {} functions.", max_functions, sorted.size()));
      break;
    }
    table.rows.push_back(
        {name.first, name.second, fmt::format("{:.0f}", value), base::format_share(value / all)});
    show::Datum& datum = table.data.emplace_back();
    datum = {{{"function", name.first}, {"object", name.second}}, metric, "sum", value};
    datum.unit = unit;
    datum.witness = witnesses.begin()->name();
  }
  return table;
}

std::vector<document::Block> write_programs(const document::Material& material) {
  std::vector<document::Block> blocks;
  for (const document::Part& part : material.parts) {
    for (const char* figure : {"trace", "profile"})
      material.gallery.add(blocks, figure, part);
    if (auto table = metrics_table(part, material.full)) blocks.emplace_back(std::move(*table));
    std::set<std::string> metrics;
    for (const auto& o : part.results->observations)
      if (plot::is_profile(o)) metrics.insert(o.metric);
    for (const std::string& metric : metrics)
      if (auto table = functions_table(part, metric, material.full ? 20 : 10))
        blocks.emplace_back(std::move(*table));
  }
  return document::under("Programs", std::move(blocks));
}

} // namespace

document::Section programs_section() {
  return {"programs", write_programs};
}

} // namespace recount::report
