#include "commands/caches/view/caches_sections.hpp"

#include "base/format.hpp"
#include "commands/caches/infer/findings.hpp"
#include "commands/caches/infer/sampler.hpp"
#include "show/plot/select.hpp"

#include <fmt/format.h>
#include <recount/error.hpp>

#include <algorithm>

namespace recount::caches {

namespace {

using plot::Panel;

plot::Sample sample_at(auto x, auto y) {
  const auto value = static_cast<double>(y);
  return {static_cast<double>(x), value, value, value};
}

std::string witness_text(const Caches& found) {
  return fmt::format("witness {}", found.witness);
}

/// Time against the working set, with measured and stated capacities; one mark where they agree.
Panel latency_panel(const CachesFindings& f) {
  Panel panel;
  panel.title = "pointers in random order, " + witness_text(f.found);
  panel.x_title = "working set";
  panel.y_title = "time per access (ns)";
  panel.y_is_time = true;
  if (f.found.curve.size() < 2) return panel;
  auto& series = panel.series.emplace_back();
  for (const auto& point : f.found.curve)
    series.samples.push_back(sample_at(point.bytes, point.ns));
  for (const LevelFinding& level : f.found.levels) {
    const Property& p = level.capacity;
    if (p.value)
      panel.marks.push_back(
          {*p.value, fmt::format("{} {}{}", level.name, value_text(p), level.effective ? " effective" : "")});
    if (p.stated && p.agreement != StatedMatch::agrees)
      panel.marks.push_back(
          {*p.stated, fmt::format("{} {} stated", level.name, base::format_bytes(*p.stated))});
  }
  return panel;
}

/// Adds the series of a level unless it is too short, with the value that it shows.
void add_level(Panel& panel, const LevelFinding& level, std::vector<plot::Sample> samples,
               const std::string& value) {
  if (samples.size() < 2) return;
  std::ranges::sort(samples, {}, &plot::Sample::x);
  auto& series = panel.series.emplace_back();
  series.samples = std::move(samples);
  series.compact = level.name;
  series.label = value.empty() ? level.name : fmt::format("{}: {}", level.name, value);
}

/// Lines retained against stride; constant at the number of ways.
Panel ways_panel(const CachesFindings& f) {
  Panel panel;
  panel.title = "lines one stride apart, " + witness_text(f.found);
  panel.x_title = "stride";
  panel.y_title = "lines retained";
  panel.y_halves = true;
  for (const LevelFinding& level : f.found.levels) {
    std::vector<plot::Sample> samples;
    for (const auto& conflict : level.geometry.conflicts)
      if (conflict.lines.exceeds != 0) samples.push_back(sample_at(conflict.stride, conflict.lines.fits));
    if (samples.size() > 1 && level.geometry.shape) {
      const std::int64_t way = level.geometry.shape->way_bytes();
      panel.marks.push_back({static_cast<double>(way), fmt::format("{} per way", base::format_bytes(way))});
    }
    if (samples.size() > 1 && level.ways.value) panel.y_tics.push_back(*level.ways.value);
    add_level(panel, level, std::move(samples), level.ways.value ? ways_text(level.ways) : "");
  }
  return panel;
}

/// Miss rate of pairs of accesses against their distance.
Panel line_panel(const CachesFindings& f) {
  Panel panel;
  panel.title = "pairs of accesses in random blocks, " + witness_text(f.found);
  panel.x_title = "distance of the second access";
  panel.y_title = "miss rate";
  panel.y_is_share = true;
  for (const LevelFinding& level : f.found.levels) {
    std::vector<plot::Sample> samples;
    for (const auto& pair : level.geometry.pairs)
      samples.push_back(sample_at(pair.distance, pair.near_first));
    add_level(panel, level, std::move(samples), level.line.value ? value_text(level.line) : "");
  }
  if (const Property& line = f.found.levels.front().line; !panel.series.empty() && line.value)
    panel.marks.push_back({*line.value, "line " + value_text(line)});
  return panel;
}

/// Levels whose ways the curves of ways_panel() do not show, and why.
std::vector<std::string> hidden_ways(const CachesFindings& f) {
  std::vector<std::string> lines;
  for (const LevelFinding& level : f.found.levels) {
    std::int64_t least = std::int64_t{1} << 62;
    for (const auto& conflict : level.geometry.conflicts)
      if (conflict.lines.exceeds != 0) least = std::min(least, conflict.lines.fits);
    if (!level.geometry.conflicts.empty() && level.ways.value &&
        static_cast<double>(least) > *level.ways.value)
      lines.push_back(fmt::format("{}: {} not visible, {} retained above it", level.name,
                                  ways_text(level.ways), base::format_count(least, "line is", "lines are")));
  }
  return lines;
}

std::vector<std::string> found_lines(const CachesFindings& f) {
  return summary_lines(f.found);
}

constexpr std::size_t max_panels = 6;

struct CachesFigure {
  plot::Entry entry;
  std::vector<Panel> (*panels)(const CachesFindings& findings);
  std::vector<std::string> (*caption)(const CachesFindings& findings);
  const char* lacks; ///< when there is no panel
};

const std::vector<CachesFigure>& all_figures() {
  static const std::vector<CachesFigure> all{
      {{"caches", "summary of recount caches: latency, line and ways", "readings of recount caches"},
       [](const CachesFindings& f) {
         return std::vector{latency_panel(f), line_panel(f), ways_panel(f)};
       },
       found_lines,
       "no cache property could be determined"},
      {{"caches-latency", "access time against the working set, with measured and stated capacities",
        "readings of recount caches by time"},
       [](const CachesFindings& f) { return std::vector{latency_panel(f)}; },
       found_lines,
       "the results have no times"},
      {{"caches-ways", "lines retained against stride; constant at the number of ways",
        "readings of recount caches"},
       [](const CachesFindings& f) { return std::vector{ways_panel(f)}; },
       hidden_ways,
       "the results have no readings at conflicting strides"},
      {{"caches-line", "miss rate of pairs of accesses against their distance", "readings of recount caches"},
       [](const CachesFindings& f) { return std::vector{line_panel(f)}; },
       [](const CachesFindings&) { return std::vector<std::string>{}; },
       "the results have no pairs of accesses"},
  };
  return all;
}

void describe_run(plot::Sheet& sheet, const CachesFindings& f, const result::Run& run,
                  const std::vector<std::string>& lines) {
  const auto add = [&](const std::string& piece) {
    if (!piece.empty() && std::ranges::find(sheet.caption, piece) == sheet.caption.end())
      sheet.caption.push_back(piece);
  };
  add(plot::machine_name(run) + (f.cpu ? fmt::format(", CPU {}", *f.cpu) : ""));
  if (f.found.rounds > 0) add("minimum over rounds, median beyond 8 MiB");
  std::ranges::for_each(lines, add);
  for (const LevelFinding& level : f.found.levels)
    if (!level.shared_use.empty()) add(fmt::format("{}: {}", level_text(level), shared_use_text(level)));
  if (f.found.disturbed > 0) add(plot::disturbed_text(f.found.disturbed, f.found.rounds));
  if (std::ranges::any_of(sheet.panels, [](const Panel& p) { return !p.marks.empty(); }))
    add("dotted lines: measured sizes, unless marked stated");
}

plot::Sheet compose(const CachesFigure& figure, const result::Results& results) {
  const std::string subject = "figure " + figure.entry.name;
  if (!std::ranges::any_of(results.runs, result::is_inference))
    throw bad_input(subject, "the results have no readings of recount caches",
                    "record some: recount caches -o FILE");
  plot::Sheet sheet;
  sheet.name = figure.entry.name;
  for (const auto& run : results.runs) {
    if (!result::is_inference(run)) continue;
    const CachesFindings findings = findings_on_record(results, run);
    for (Panel& panel : figure.panels(findings))
      if (!panel.series.empty()) sheet.panels.push_back(std::move(panel));
    describe_run(sheet, findings, run, figure.caption(findings));
  }
  if (sheet.panels.empty()) throw bad_input(subject, figure.lacks);
  if (sheet.panels.size() > max_panels)
    throw bad_input(subject,
                    fmt::format("{} panels, at most {} fit on a page", sheet.panels.size(), max_panels),
                    "plot the runs one by one");
  return sheet;
}

} // namespace

std::vector<plot::Figure> caches_figures() {
  std::vector<plot::Figure> figures;
  for (const CachesFigure& figure : all_figures())
    figures.push_back(
        {figure.entry, [&figure](const auto& results, const auto&) { return compose(figure, results); },
         [&figure](const auto& results, const auto&) {
           return figure.entry.name == "caches" && std::ranges::any_of(results.runs, result::is_inference);
         }});
  return figures;
}

} // namespace recount::caches
