#include "caches/view/panels.hpp"

#include "base/format.hpp"
#include "caches/infer/sampler.hpp"
#include "plot/select.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <recount/error.hpp>

namespace recount::caches {

namespace {

plot::Sample sample_at(double x, double y) {
  return {x, y, y, y};
}

std::string witness_text(const CachesFindings& f) {
  return f.found.modelled ? fmt::format("modelled (witness {})", f.found.witness)
                          : fmt::format("witness {}", f.found.witness);
}

/// Found and stated; one line where they agree.
void add_marks(plot::Panel& panel, const LevelFinding& level) {
  const Property& p = level.capacity;
  const bool agree = p.agreement == StatedMatch::agrees;
  if (p.value)
    panel.marks.push_back(
        {*p.value, fmt::format("{} {}{}", level.name, value_text(p), level.effective ? " effective" : "")});
  if (p.stated && !agree)
    panel.marks.push_back(
        {*p.stated, fmt::format("{} {} stated", level.name, base::format_bytes(*p.stated))});
}

/// A curve for each size, by stride.
void add_sizes(plot::Panel& panel, const std::vector<GridRow>& rows, const std::string& kernel,
               const std::function<std::optional<double>(const GridRow&)>& value, bool modelled) {
  std::map<std::int64_t, plot::Series> by_size;
  for (const GridRow& row : rows) {
    const auto y = row.kernel == kernel ? value(row) : std::nullopt;
    if (!y) continue;
    const auto size = static_cast<double>(row.size);
    plot::Series& series = by_size[row.size];
    series.label = base::format_bytes(size);
    series.compact = base::format_bytes(size, true);
    series.modelled = modelled;
    series.samples.push_back(sample_at(static_cast<double>(row.stride), *y));
  }
  for (auto& [size, series] : by_size)
    if (series.samples.size() > 1) panel.series.push_back(std::move(series));
  panel.x_title = "stride";
  panel.ordered = true;
  panel.series_title = "size";
}

} // namespace

plot::Panel latency_panel(const CachesFindings& f) {
  plot::Panel panel;
  panel.title = fmt::format("pointers in random order, {}", witness_text(f));
  panel.x_title = "working set";
  panel.y_title = "time per access (ns)";
  panel.y_is_time = true;
  if (f.found.curve.size() < 2) return panel;
  plot::Series series;
  for (const auto& point : f.found.curve)
    series.samples.push_back(sample_at(static_cast<double>(point.bytes), point.ns));
  panel.series.push_back(std::move(series));
  for (const LevelFinding& level : f.found.levels)
    add_marks(panel, level);
  return panel;
}

plot::Panel ways_panel(const CachesFindings& f) {
  plot::Panel panel;
  panel.title = fmt::format("lines one stride apart, {}", witness_text(f));
  panel.x_title = "stride";
  panel.y_title = "lines retained";
  panel.y_halves = true;
  for (const LevelFinding& level : f.found.levels) {
    plot::Series series;
    for (const auto& conflict : level.geometry.conflicts)
      if (conflict.lines.exceeds != 0)
        series.samples.push_back(
            sample_at(static_cast<double>(conflict.stride), static_cast<double>(conflict.lines.fits)));
    if (series.samples.size() < 2) continue;
    std::ranges::sort(series.samples, {}, &plot::Sample::x);
    series.label = level.ways.value ? fmt::format("{}: {}", level.name, ways_text(level.ways)) : level.name;
    series.compact = level.name;
    series.modelled = f.found.modelled;
    panel.series.push_back(std::move(series));
    if (level.geometry.shapes.size() == 1) {
      const auto way = static_cast<double>(level.geometry.shapes.front().way_bytes());
      panel.marks.push_back({way, fmt::format("{} per way", base::format_bytes(way))});
    }
  }
  return panel;
}

plot::Panel line_panel(const CachesFindings& f) {
  plot::Panel panel;
  panel.title = fmt::format("pairs of accesses in random blocks, {}", witness_text(f));
  panel.x_title = "distance of the second access";
  panel.y_title = "miss rate";
  panel.y_is_share = true;
  for (const LevelFinding& level : f.found.levels) {
    plot::Series series;
    for (const auto& pair : level.geometry.pairs)
      series.samples.push_back(sample_at(static_cast<double>(pair.distance), pair.near_first));
    if (series.samples.size() < 2) continue;
    series.label = level.line.value ? fmt::format("{}: {}", level.name, value_text(level.line)) : level.name;
    series.compact = level.name;
    series.modelled = f.found.modelled;
    panel.series.push_back(std::move(series));
  }
  if (!panel.series.empty() && f.found.levels.front().line.value)
    panel.marks.push_back({*f.found.levels.front().line.value,
                           fmt::format("line {}", value_text(f.found.levels.front().line))});
  return panel;
}

plot::Panel stopwatch_panel(const CachesFindings& f, const std::string& kernel) {
  plot::Panel panel;
  panel.title = fmt::format("kernel {}, witness clock; by size", kernel);
  panel.y_title = "time per access (ns)";
  panel.y_is_time = true;
  add_sizes(
      panel, f.rows, kernel, [](const GridRow& row) { return row.ns; }, false);
  return panel;
}

plot::Panel misses_panel(const CachesFindings& f, std::size_t level) {
  plot::Panel panel;
  Witness counted_by;
  const auto misses = [&](const GridRow& row) {
    return level < row.misses.size() ? row.misses[level] : std::nullopt;
  };
  // Around the capacity: curves far from it add nothing.
  const std::string name = level == 0 ? "L1d" : fmt::format("L{}", level + 1);
  std::int64_t least = 0, most = std::int64_t{1} << 62;
  for (const ClassicReading& reading : f.classic)
    if (reading.level == name && !reading.penalty && reading.capacity.value) {
      least = *reading.capacity.value / 4;
      most = 4 * *reading.capacity.value;
    }
  add_sizes(
      panel, f.rows, "stride",
      [&](const GridRow& row) {
        const auto value = misses(row);
        if (value) counted_by = row.counted_by;
        return row.size >= least && row.size <= most ? value : std::nullopt;
      },
      f.found.modelled);
  panel.title = fmt::format("PAPI_L{}_DCM, kernel stride, {}; by size", level + 1, witness_text(f));
  panel.y_title = "misses per access";
  panel.y_is_share = true;
  return panel;
}

std::vector<std::string> hidden_ways(const CachesFindings& f) {
  std::vector<std::string> lines;
  for (const LevelFinding& level : f.found.levels) {
    std::int64_t least = std::int64_t{1} << 62;
    for (const auto& conflict : level.geometry.conflicts)
      if (conflict.lines.exceeds != 0) least = std::min(least, conflict.lines.fits);
    if (!level.geometry.conflicts.empty() && level.ways.value &&
        static_cast<double>(least) > *level.ways.value)
      lines.push_back(fmt::format("{}: {} {} not visible, {} retained above it", level.name,
                                  ways_text(level.ways), level.ways.value == 1 ? "is" : "are",
                                  base::format_count(least, "line is", "lines are")));
  }
  return lines;
}

std::vector<std::string> classic_lines(const CachesFindings& f, bool misses) {
  std::vector<std::string> lines;
  for (const ClassicReading& r : f.classic) {
    if (r.misses != misses || !r.capacity.value) continue;
    std::string line =
        fmt::format("{}{}: {} ≤ size < {}", r.level,
                    misses                                        ? ""
                    : r.curves.find("chase") != std::string::npos ? " by chase"
                                                                  : " by stride",
                    base::format_bytes(*r.capacity.value), base::format_bytes(r.capacity.below));
    if (r.line.value) line += fmt::format(", line {} B", *r.line.value);
    if (r.ways.value)
      line += r.ways.below - 1 == *r.ways.value
                  ? ", " + base::format_count(*r.ways.value, "way")
                  : fmt::format(", {} to {} ways", *r.ways.value, r.ways.below - 1);
    lines.push_back(line);
  }
  return lines;
}

namespace {

constexpr std::size_t most_caches_panels = 6;

struct CachesFigure {
  const char* name;
  std::vector<plot::Panel> (*panels)(const CachesFindings& findings);
  std::vector<std::string> (*caption)(const CachesFindings& findings);
  const char* lacks; ///< when there is no panel
};

std::vector<plot::Panel> misses_panels(const CachesFindings& f) {
  std::vector<plot::Panel> panels;
  for (std::size_t level = 0; level < 2; ++level)
    panels.push_back(misses_panel(f, level));
  return panels;
}

std::vector<std::string> found_lines(const CachesFindings& f) {
  return summary_lines(f.found);
}

const std::vector<CachesFigure>& caches_table() {
  static const std::vector<CachesFigure> all{
      {"caches",
       [](const CachesFindings& f) {
         std::vector<plot::Panel> panels{latency_panel(f), line_panel(f), ways_panel(f)};
         panels.push_back(f.found.modelled || !misses_panel(f, 0).series.empty()
                              ? misses_panel(f, 0)
                              : stopwatch_panel(f, "chase"));
         return panels;
       },
       found_lines, "no cache property could be determined"},
      {"caches-latency", [](const CachesFindings& f) { return std::vector{latency_panel(f)}; }, found_lines,
       "the results have no times"},
      {"caches-ways", [](const CachesFindings& f) { return std::vector{ways_panel(f)}; }, hidden_ways,
       "the results have no readings at conflicting strides"},
      {"caches-line", [](const CachesFindings& f) { return std::vector{line_panel(f)}; },
       [](const CachesFindings&) { return std::vector<std::string>{}; },
       "the results have no pairs of accesses"},
      {"caches-stopwatch",
       [](const CachesFindings& f) {
         return std::vector{stopwatch_panel(f, "stride"), stopwatch_panel(f, "chase")};
       },
       [](const CachesFindings& f) { return classic_lines(f, false); },
       "the results have no times of sizes and strides: recount caches --grid -o FILE"},
      {"caches-misses", misses_panels, [](const CachesFindings& f) { return classic_lines(f, true); },
       "the results have no misses of sizes and strides: recount caches --grid -o FILE, with a witness that "
       "counts misses or with the model"},
  };
  return all;
}

void describe_run(plot::Sheet& sheet, const CachesFindings& f, const result::Run& run,
                  std::vector<std::string> lines) {
  const auto add = [&](const std::string& piece) {
    if (!piece.empty() && std::ranges::find(sheet.caption, piece) == sheet.caption.end())
      sheet.caption.push_back(piece);
  };
  std::string machine = plot::machine_name(run);
  if (f.cpu) machine += fmt::format(", CPU {}", *f.cpu);
  const bool measured = std::ranges::any_of(sheet.panels, [](const plot::Panel& p) {
    return std::ranges::any_of(p.series, [](const plot::Series& s) { return !s.modelled; });
  });
  add(f.found.modelled ? plot::modelled_text(sheet, measured) : machine);
  if (!f.found.modelled) add("minimum over rounds");
  for (const auto& line : lines)
    add(line);
  for (const LevelFinding& level : f.found.levels)
    if (!level.shared_use.empty()) add(fmt::format("{}: {}", level_text(level), shared_use_text(level)));
  if (f.found.disturbed > 0) add(plot::disturbed_text(f.found.disturbed, f.found.rounds));
  if (std::ranges::any_of(sheet.panels, [](const plot::Panel& p) { return !p.marks.empty(); }))
    add("dotted lines: measured sizes, unless marked stated");
}

} // namespace

bool holds_caches(const result::Results& results) {
  return std::ranges::any_of(results.runs, result::is_inference);
}

plot::Sheet compose_caches(const std::string& name, const result::Results& results) {
  const auto figure = std::ranges::find(caches_table(), name, &CachesFigure::name);
  if (figure == caches_table().end()) throw bad_input(name, "no such figure");
  if (!holds_caches(results))
    throw bad_input("figure " + name, "the results have no readings of recount caches",
                    "record some: recount caches -o FILE");
  plot::Sheet sheet;
  sheet.name = name;
  for (const auto& run : results.runs) {
    if (!result::is_inference(run)) continue;
    const CachesFindings findings = caches::findings_on_record(results, run);
    for (plot::Panel& panel : figure->panels(findings))
      if (!panel.series.empty()) sheet.panels.push_back(std::move(panel));
    describe_run(sheet, findings, run, figure->caption(findings));
  }
  if (sheet.panels.empty()) throw bad_input("figure " + name, figure->lacks);
  if (sheet.panels.size() > most_caches_panels)
    throw bad_input(
        "figure " + name,
        fmt::format("{} panels, at most {} fit on a page", sheet.panels.size(), most_caches_panels),
        "plot the runs one by one");
  return sheet;
}

std::vector<plot::Figure> caches_figures() {
  static const std::vector<plot::Entry> entries{
      {"caches", "summary of recount caches: latency, line, ways, and misses or times against stride",
       "readings of recount caches -o; all its panels with --grid"},
      {"caches-latency", "access time against the working set, with measured and stated capacities",
       "readings of recount caches by time"},
      {"caches-ways", "lines retained against stride; constant at the number of ways",
       "readings of recount caches"},
      {"caches-line", "miss rate of pairs of accesses against their distance", "readings of recount caches"},
      {"caches-stopwatch", "mean access time against stride, for the kernels stride and chase",
       "readings of recount caches --grid by time"},
      {"caches-misses", "average misses against stride for L1 and L2, sizes around the capacity",
       "readings of recount caches --grid by counters or a model"},
  };
  std::vector<plot::Figure> figures;
  for (const plot::Entry& entry : entries)
    figures.push_back(
        {entry, [&entry](const auto& results, const auto&) { return compose_caches(entry.name, results); },
         [&entry](const auto& results, const auto&) {
           return entry.name == "caches" && holds_caches(results);
         }});
  return figures;
}

} // namespace recount::caches
