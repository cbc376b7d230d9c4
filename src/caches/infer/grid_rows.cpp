#include "caches/infer/classic.hpp"
#include "caches/infer/record.hpp"
#include "result/curves.hpp"
#include "statistics/statistics.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <set>
#include <tuple>

namespace recount::caches {

namespace {

struct GridCell {
  TimedRounds times;
  std::vector<double> cycles;
  std::array<std::vector<double>, counted_levels> misses;
  std::string counted_by;
};

std::int64_t power_of_two(const result::Observation& o, const std::string& name) {
  const std::int64_t number = result::integer(o.params, name).value_or(0);
  return number > 0 && std::has_single_bit(static_cast<std::uint64_t>(number)) ? number : 0;
}

bool is_cycles(const std::string& metric) {
  return metric == "PAPI_TOT_CYC";
}

void take(GridCell& cell, const result::Observation& o) {
  if (o.metric == "seconds" && (o.witness == "clock" || o.witness == "published")) {
    if (const auto ns = result::ns_per_access(o)) cell.times.add(*ns, !result::disturbances(o).empty());
    return;
  }
  const auto each = result::per_access(o);
  if (!each) return;
  if (is_cycles(o.metric)) cell.cycles.push_back(*each);
  const auto level = level_of_misses(o.metric);
  if (!level) return;
  if (cell.counted_by.empty()) cell.counted_by = o.witness;
  if (cell.counted_by == o.witness) cell.misses[*level].push_back(*each); // one witness at a time
}

} // namespace

std::vector<GridRow> grid_rows(const result::Results& results, const result::Run& run) {
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, GridCell> cells;
  const bool record = result::is_inference(run);
  for (const auto& o : results.observations) {
    if (o.run != run.id || (o.kernel != "stride" && o.kernel != "chase")) continue;
    if (record && result::is_reading(o)) continue;
    const std::int64_t size = power_of_two(o, "size"), stride = power_of_two(o, "stride");
    if (size > 0 && stride > 0 && stride <= size) take(cells[{o.kernel, size, stride}], o);
  }
  std::vector<GridRow> rows;
  for (const auto& [key, cell] : cells) {
    GridRow row{std::get<0>(key), std::get<1>(key), std::get<2>(key), cell.counted_by, {}, {}, {}, false};
    row.disturbed = cell.times.undisturbed.empty();
    const auto& ns = row.disturbed ? cell.times.disturbed : cell.times.undisturbed;
    if (!ns.empty()) row.ns = std::ranges::min(ns); // disturbances only add time
    row.disturbed = row.disturbed && row.ns;
    if (!cell.cycles.empty()) row.cycles = statistics::median(cell.cycles);
    for (const auto& misses : cell.misses)
      row.misses.push_back(misses.empty() ? std::nullopt : std::optional(statistics::median(misses)));
    while (!row.misses.empty() && !row.misses.back())
      row.misses.pop_back();
    if (row.ns || row.cycles || !row.misses.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace recount::caches
