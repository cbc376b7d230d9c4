// Every value of a sweep, as an appendix of the report.
#include "sweep/section.hpp"

#include "base/format.hpp"
#include "sweep/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace recount::sweep {
namespace {

/// Products have an appendix of their own; counts of a command (recount stat) are no sweep.
bool is_sweep(const result::Run& run) {
  const auto kernel = run.plan.find("kernel");
  return kernel != run.plan.end() && run.plan.contains("repeat") && kernel->second != "matmul" &&
         kernel->second != "command" && !result::is_inference(run);
}

std::string number_text(const std::string& metric, double value) {
  return metric == "seconds" ? base::format_seconds(value) : base::format_number(value);
}

std::string per_access_text(const SweepGroup& group) {
  const auto each = group.per_access();
  if (!each) return "-";
  return group.metric == "seconds" ? base::format_number(*each * 1e9) + " ns" : base::format_number(*each);
}

document::Table values_table(const std::string& caption, const std::vector<SweepGroup>& groups) {
  const auto names = varying(groups);
  document::Table table{caption, {}, {}};
  for (const auto& name : names)
    table.columns.push_back({name});
  for (const char* head : {"metric", "witness"})
    table.columns.push_back({head, false});
  for (const char* head : {"n", "value", "95 % interval", "accesses", "per access", "disturbed"})
    table.columns.push_back({head});
  const bool timed =
      std::ranges::any_of(groups, [](const auto& group) { return !group.cpu_seconds.empty(); });
  if (timed) table.columns.push_back({"CPU time (s)"});
  for (const auto& group : groups) {
    if (!group.summary) continue; // the method's section has the reason
    std::vector<std::string> row;
    for (const auto& name : names) {
      const auto setting = group.params.find(name);
      row.push_back(setting == group.params.end() ? "-" : result::text(setting->second));
    }
    const auto& s = *group.summary;
    row.insert(row.end(),
               {group.metric, group.witness, std::to_string(s.n), number_text(group.metric, s.value),
                s.n < 2 || s.low == s.high ? "-"
                                           : fmt::format("{} to {}", number_text(group.metric, s.low),
                                                         number_text(group.metric, s.high)),
                group.accesses ? std::to_string(*group.accesses) : "-", per_access_text(group),
                group.flagged > 0 ? std::to_string(group.flagged) : "-"});
    if (timed)
      row.push_back(
          group.cpu_seconds.empty()
              ? "-"
              : number_text("seconds", statistics::summarise(group.cpu_seconds, s.statistic).value));
    table.rows.push_back(std::move(row));
  }
  if (std::string outliers = outliers_text(groups); !outliers.empty())
    table.notes.push_back(std::move(outliers));
  return table;
}

std::vector<document::Block> write_values(const document::Material& material) {
  std::vector<document::Block> blocks;
  for (const document::Part& part : material.parts) {
    std::set<std::string> runs, kernels;
    for (const auto& run : part.results->runs)
      if (is_sweep(run)) runs.insert(run.id);
    for (const auto& o : part.results->observations)
      if (runs.contains(o.run)) kernels.insert(o.kernel);
    for (const auto& kernel : kernels) {
      const document::Part own =
          document::only(part, [&](const auto& o) { return o.kernel == kernel && runs.contains(o.run); });
      document::Table table = values_table(
          fmt::format(
              "All values of the kernel {}, {} of the repetitions, seconds unless another unit is stated: {}",
              kernel, statistics::name_of(part.results->statistic), part.machine),
          sweep_groups(*own.results));
      if (!table.rows.empty()) blocks.emplace_back(std::move(table));
    }
  }
  return document::under("All values of the sweeps", std::move(blocks));
}

} // namespace

document::Section values_section() {
  return {"", write_values, {}, {}, true};
}

} // namespace recount::sweep
