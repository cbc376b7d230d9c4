#include "caches/view/panels.hpp"
#include "plot/select.hpp"

#include "caches/infer/record.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace recount::caches {
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
