// Sweeps over size and stride: time and misses per access as tables and figures, and the cache properties
// they show.
#include "base/format.hpp"
#include "base/names.hpp"
#include "caches/infer/classic.hpp"
#include "caches/infer/record.hpp"
#include "caches/view/external.hpp"
#include "caches/view/panels.hpp"
#include "sweep/groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace recount::caches {
namespace {

constexpr std::size_t most_columns = 12; ///< that a page is wide enough for

/// The points of one kernel, of sweeps and of the grid of recount caches.
document::Part points_of(const document::Part& part, const std::string& kernel) {
  std::set<std::string> inferences;
  for (const auto& run : part.results->runs)
    if (result::is_inference(run)) inferences.insert(run.id);
  return document::only(part, [&](const auto& o) {
    return o.kernel == kernel && !(inferences.contains(o.run) && result::is_reading(o));
  });
}

/// A quantity per access, in a table of its own.
struct Quantity {
  std::string title;  ///< "Mean access time in ns"
  std::string metric; ///< "seconds"
  double unit = 1;    ///< in which it is shown
};

std::string cell_text(const Quantity& quantity, double each) {
  const double shown = each / quantity.unit;
  return quantity.metric == "seconds" ? fmt::format("{:.{}f}", shown,
                                                    shown < 10    ? 2
                                                    : shown < 100 ? 1
                                                                  : 0)
                                      : fmt::format("{:.3f}", shown);
}

/// Strides down, sizes across. Nothing with fewer than two of each, with more sizes than fit, or where other
/// parameters vary as well: the appendix has these values.
std::optional<document::Table> grid_table(const std::vector<sweep::SweepGroup>& groups,
                                          const std::string& caption, const Quantity& quantity) {
  std::map<std::int64_t, std::map<std::int64_t, std::string>> rows; // by stride and size
  std::set<std::int64_t> sizes;
  for (const auto& group : groups) {
    const auto size = result::integer(group.params, "size"), stride = result::integer(group.params, "stride");
    const auto each = group.per_access();
    if (!size || !stride || !each) continue;
    sizes.insert(*size);
    if (!rows[*stride].emplace(*size, cell_text(quantity, *each)).second) return {};
  }
  if (sizes.size() < 2 || sizes.size() > most_columns || rows.size() < 2) return {};
  document::Table table{caption, {{"stride"}}, {}};
  for (const auto size : sizes)
    table.columns.push_back({base::format_bytes(size)});
  for (const auto& [stride, cells] : rows) {
    std::vector<std::string> row{base::format_bytes(stride)};
    for (const auto size : sizes) {
      const auto cell = cells.find(size);
      row.push_back(cell == cells.end() ? "-" : cell->second);
    }
    table.rows.push_back(std::move(row));
  }
  table.notes.push_back(
      "Sizes across, strides down; -: not measured (the stride exceeds half of the array, or the "
      "point was left out).");
  return table;
}

/// Tables of a quantity, one for each witness.
void add_tables(std::vector<document::Block>& blocks, const document::Part& sweep,
                const std::vector<sweep::SweepGroup>& all, const std::string& kernel,
                const Quantity& quantity) {
  std::map<std::string, std::vector<sweep::SweepGroup>> by_witness;
  for (const auto& group : all)
    if (group.metric == quantity.metric && group.summary) by_witness[group.witness].push_back(group);
  for (const auto& [witness, groups] : by_witness) {
    const std::string caption =
        fmt::format("{}: kernel {}, {}, {} of the repetitions", quantity.title, kernel,
                    base::format_witness(witness), statistics::name_of(sweep.results->statistic));
    if (auto table = grid_table(groups, caption, quantity)) blocks.emplace_back(std::move(*table));
  }
}

/// What recount caches found by times on this machine.
std::vector<Caches> timed_findings(const document::Part& part) {
  std::vector<Caches> all;
  for (const auto& run : part.results->runs) {
    const auto witness = run.plan.find("witness");
    if (result::is_inference(run) && witness != run.plan.end() && !is_modelled(witness->second))
      all.push_back(findings_on_record(*part.results, run).found);
  }
  return all;
}

/// Without those that contradict a better finding.
std::vector<ClassicReading> readings_of(const document::Part& sweep, const std::vector<Caches>& found) {
  std::vector<ClassicReading> all;
  for (const auto& run : sweep.results->runs)
    for (auto& reading : classic_readings(grid_rows(*sweep.results, run)))
      if (std::ranges::none_of(found, [&](const Caches& one) { return contradicts(reading, one); }))
        all.push_back(std::move(reading));
  return all;
}

void add_readings(std::vector<document::Block>& blocks, const std::vector<ClassicReading>& readings,
                  bool misses) {
  for (const ClassicReading& reading : readings)
    if (reading.misses == misses)
      blocks.emplace_back(document::Paragraph{
          fmt::format("{}: {}. {}", reading.level, classic_values_text(reading), classic_text(reading))});
}

/// What counted misses would answer, and why they were not counted.
std::string uncounted(const document::Part& part) {
  std::string reason;
  bool counted = false, modelled = false;
  for (const auto& o : part.results->observations) {
    if (!level_of_misses(o.metric)) continue;
    const bool by_model = is_modelled(o.witness);
    (by_model ? modelled : counted) |= o.value.index() != 0;
    if (!by_model && reason.empty()) reason = o.reason;
  }
  if (counted) return {};
  for (const auto& run : part.results->runs)
    if (const auto skipped = run.skipped.find("perf"); reason.empty() && skipped != run.skipped.end())
      reason = skipped->second;
  return fmt::format(
      "Misses were not counted here{}. Size, line and ways by counted misses are not answerable "
      "without a core PMU.{}",
      reason.empty() ? "" : " (" + reason + ")",
      modelled ? " The values below are modelled, of the stated caches: they show what the counters "
                 "should count, and cannot contradict the statement."
               : "");
}

void add_figure(std::vector<document::Block>& blocks, const document::Material& material, const char* figure,
                const document::Part& sweep) {
  if (auto picture = material.gallery.add(figure, sweep)) blocks.emplace_back(std::move(*picture));
}

/// Time and cycles per access, then misses.
std::vector<document::Block> write_kernel(const document::Material& material, const document::Part& sweep,
                                          const std::string& kernel, const std::vector<Caches>& found) {
  std::set<std::int64_t> strides;
  for (const auto& o : sweep.results->observations)
    if (const auto stride = result::integer(o.params, "stride")) strides.insert(*stride);
  const bool by_size = strides.size() < 3;
  const auto readings = readings_of(sweep, found);
  const auto groups = sweep::sweep_groups(*sweep.results);
  std::vector<document::Block> times, misses;
  add_tables(times, sweep, groups, kernel, {"Mean access time in ns", "seconds", 1e-9});
  add_tables(times, sweep, groups, kernel, {"Cycles per access (PAPI_TOT_CYC)", "PAPI_TOT_CYC"});
  if (!sweep.published) add_figure(times, material, by_size ? "working-set" : "access-time", sweep);
  add_readings(times, readings, false);
  for (std::size_t level = 0; level < counted_levels; ++level)
    add_tables(misses, sweep, groups, kernel,
               {fmt::format("Misses per access ({}: data accesses that miss in {})", miss_metric(level),
                            level == 0 ? "L1d" : fmt::format("L{}", level + 1)),
                miss_metric(level)});
  if (!sweep.published) add_figure(misses, material, by_size ? "working-set-misses" : "misses", sweep);
  add_readings(misses, readings, true);
  std::vector<document::Block> all;
  if (!times.empty()) all.emplace_back(document::Heading{"Time of the kernel " + kernel, 2});
  document::append(all, std::move(times));
  if (misses.empty()) return all;
  all.emplace_back(document::Heading{"Misses of the kernel " + kernel, 2});
  document::append(all, std::move(misses));
  return all;
}

constexpr const char* kernels[] = {"stride", "chase"};

std::vector<document::Block> write_sweeps(const document::Material& material) {
  std::vector<document::Block> blocks;
  for (const document::Part& part : material.parts) {
    std::vector<document::Block> of_part;
    const auto found = timed_findings(part);
    for (const char* kernel : kernels)
      document::append(of_part, write_kernel(material, points_of(part, kernel), kernel, found));
    if (of_part.empty()) continue;
    if (part.published) {
      const auto source = part.results->runs.front().versions.find("source");
      blocks.emplace_back(document::Heading{"External results: " + part.results->runs.front().host, 2});
      if (source != part.results->runs.front().versions.end() && !source->second.empty())
        blocks.emplace_back(document::Paragraph{source->second});
      document::append(of_part, compare_external(part, material.results));
    } else if (const std::string why = uncounted(part); !why.empty())
      blocks.emplace_back(document::Paragraph{why});
    document::append(blocks, std::move(of_part));
  }
  if (blocks.empty()) return blocks;
  std::vector<document::Block> all;
  all.emplace_back(document::Paragraph{
      "When the working set exceeds the capacity of a level, the access time rises in a step. With the "
      "stride, misses rise up to the line size, from which each access touches its own line. "
      "They drop again once the remaining lines fit the ways of their sets. Prefetching "
      "hides part of this in a sequential walk, but not in a chain of dependent loads."});
  document::append(all, std::move(blocks));
  return document::under("Cache curves", std::move(all));
}

/// One line for all kernels, so that each value is there once; none by times of a level that recount caches
/// has found.
std::vector<std::string> readings_summary(const document::Part& part) {
  const auto found = timed_findings(part);
  const auto is_found = [&](const std::string& name) {
    return std::ranges::any_of(found, [&](const Caches& one) {
      return std::ranges::any_of(
          one.levels, [&](const LevelFinding& level) { return level.name == name && level.capacity.value; });
    });
  };
  std::vector<std::string> lines;
  std::map<std::pair<std::string, bool>, std::vector<std::pair<std::string, ClassicReading>>> all;
  for (const char* kernel : kernels)
    for (ClassicReading& reading : readings_of(points_of(part, kernel), found))
      if (reading.misses || !is_found(reading.level))
        all[{reading.level, reading.misses}].emplace_back(kernel, std::move(reading));
  for (const auto& [level, readings] : all) {
    std::set<std::string> names;
    std::array<std::set<std::string>, 3> values; // a kernel may show what another does not
    for (const auto& [kernel, reading] : readings) {
      names.insert(kernel);
      if (reading.capacity.value) values[0].insert(classic_capacity_text(reading));
      if (reading.line.value) values[1].insert(classic_line_text(reading));
      if (reading.ways.value) values[2].insert(classic_ways_text(reading));
    }
    const auto text = [&](std::size_t i) {
      return values[i].empty() ? std::string("unknown") : fmt::format("{}", fmt::join(values[i], " or "));
    };
    lines.push_back(fmt::format("{} from the {} of the {} {}: capacity {}, line {}, ways {}.", level.first,
                                level.second ? "misses" : "times", names.size() > 1 ? "kernels" : "kernel",
                                fmt::join(names, " and "), text(0), text(1), text(2)));
  }
  return lines;
}

} // namespace

document::Section sweeps_section() {
  return {"caches", write_sweeps, readings_summary};
}

} // namespace recount::caches
