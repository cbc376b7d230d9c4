// Every value of every repetition.
#include "base/format.hpp"
#include "matmul/sections.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace recount::matmul {
namespace {

std::string one_value(const std::string& metric, double value) {
  return metric == "seconds" ? base::format_seconds(value) : fmt::format("{:.0f}", value);
}

bool modelled(const std::string& witness) {
  return witness.starts_with("model");
}

/// The most repetitions of anything that was measured; 0: nothing was.
std::size_t most_repetitions(const Products& group) {
  std::size_t most = 0;
  for (const auto& [product, metrics] : group.of)
    for (const auto& [who, all] : metrics)
      if (!modelled(who.first)) most = std::max(most, all.values.size());
  return most;
}

std::vector<std::string> measured_row(const Repetitions& all, const std::string& metric, std::size_t most) {
  std::vector<std::string> cells;
  for (const Repeated& one : all.values)
    cells.push_back(one_value(metric, one.value) + (one.flags.empty() ? "" : "*"));
  cells.resize(most);
  if (most < 2) return cells;
  const statistics::Summary& s = *all.summary;
  cells.push_back(one_value(metric, s.mean));
  cells.push_back(one_value(metric, s.median));
  cells.push_back(s.median == 0 ? "" : fmt::format("{:.1f} %", 100 * (s.p90 - s.p10) / s.median));
  return cells;
}

document::Table head_of(std::string caption) {
  return {std::move(caption), {{"product", false}, {"n"}, {"metric", false}, {"witness", false}}, {}};
}

} // namespace

std::vector<document::Block> all_values(const Products& group) {
  const std::size_t most = most_repetitions(group);
  document::Table measured =
      head_of(most > 1 ? "All repetitions: mean, median and spread ((p90 - p10) / median)" : "All values");
  for (std::size_t i = 0; i < most; ++i)
    measured.columns.push_back({most > 1 ? std::to_string(i + 1) : "value"});
  if (most > 1)
    for (const char* head : {"mean", "median", "spread"})
      measured.columns.push_back({head});
  document::Table deterministic = head_of("All modelled values (deterministic, one each)");
  deterministic.columns.push_back({"value"});
  bool flagged = false;
  for (const auto& [product, metrics] : group.of)
    for (const auto& [who, all] : metrics) {
      if (!all.summary) continue;
      const auto& [witness, metric] = who;
      std::vector<std::string> row{loops_name(product), std::to_string(product.n), metric, witness};
      auto cells = modelled(witness) ? std::vector{one_value(metric, all.summary->mean)}
                                     : measured_row(all, metric, most);
      flagged = flagged || all.flagged > 0;
      row.insert(row.end(), cells.begin(), cells.end());
      (modelled(witness) ? deterministic : measured).rows.push_back(std::move(row));
    }
  if (flagged) measured.notes.emplace_back("* disturbed repetition");
  std::vector<document::Block> made;
  for (document::Table* table : {&measured, &deterministic})
    if (!table->rows.empty()) made.emplace_back(std::move(*table));
  return made;
}

} // namespace recount::matmul
