// Every value of every repetition.
#include "base/format.hpp"
#include "base/names.hpp"
#include "matmul/sections.hpp"

#include <fmt/format.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace recount::matmul {
namespace {

std::string one_value(const std::string& metric, double value) {
  return metric.ends_with("seconds") ? base::format_seconds(value) : fmt::format("{:.0f}", value);
}

/// The most repetitions of anything that was measured; 0: nothing was.
std::size_t most_repetitions(const Products& group) {
  std::size_t most = 0;
  for (const auto& [product, metrics] : group.of)
    for (const auto& [who, all] : metrics)
      if (!is_modelled(who.first)) most = std::max(most, all.values.size());
  return most;
}

std::vector<std::string> measured_row(const Repetitions& all, const std::string& metric, std::size_t most) {
  std::vector<std::string> cells;
  for (const Repeated& one : all.values)
    cells.push_back(one_value(metric, one.value) + (one.disturbances.empty() ? "" : "*"));
  cells.resize(most);
  if (most < 2) return cells;
  const statistics::Summary& s = *all.summary;
  cells.push_back(one_value(metric, s.value));
  if (s.statistic == statistics::Statistic::median)
    cells.push_back(fmt::format("{} to {}", one_value(metric, s.low), one_value(metric, s.high)));
  return cells;
}

document::Table head_of(std::string caption) {
  return {std::move(caption),
          {{"product", false, true}, {"n", true, true}, {"metric", false, true}, {"witness", false, true}},
          {}};
}

} // namespace

std::vector<document::Block> all_values(const Products& group) {
  const std::size_t most = most_repetitions(group);
  document::Table measured =
      head_of(most > 1 ? fmt::format("All repetitions and their {}", statistics::name_of(group.statistic))
                       : std::string("All values"));
  for (std::size_t i = 0; i < most; ++i)
    measured.columns.push_back({most > 1 ? std::to_string(i + 1) : "value"});
  if (most > 1) measured.columns.push_back({statistics::name_of(group.statistic)});
  if (most > 1 && group.statistic == statistics::Statistic::median)
    measured.columns.push_back({"95 % interval"});
  document::Table deterministic =
      head_of("All modelled values (median of the draws of placement, if there are several)");
  deterministic.columns.push_back({"value"});
  std::set<std::string> disturbed; // what each disturbed repetition suffered from
  for (const auto& [product, metrics] : group.of)
    for (const auto& [who, all] : metrics) {
      if (!all.summary) continue;
      const auto& [witness, metric] = who;
      std::vector<std::string> row{loops_name(product), std::to_string(product.n), metric, witness};
      auto cells = is_modelled(witness) ? std::vector{one_value(metric, all.summary->value)}
                                        : measured_row(all, metric, most);
      for (const Repeated& one : all.values)
        if (!one.disturbances.empty())
          disturbed.insert(fmt::format(
              "{}, n = {}, repetition {} ({})", loops_name(product), product.n, one.repetition + 1,
              fmt::join(one.disturbances | std::views::transform(&Flag::text), ", ")));
      row.insert(row.end(), cells.begin(), cells.end());
      (is_modelled(witness) ? deterministic : measured).rows.push_back(std::move(row));
    }
  if (!disturbed.empty())
    measured.notes.push_back(fmt::format("* more than {} % of the time lost: {}.", result::disturbed_percent,
                                         fmt::join(disturbed, "; ")));
  std::vector<document::Block> made;
  for (document::Table* table : {&measured, &deterministic})
    if (!table->rows.empty()) made.emplace_back(std::move(*table));
  return made;
}

} // namespace recount::matmul
