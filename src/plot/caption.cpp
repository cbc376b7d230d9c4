#include "base/format.hpp"
#include "plot/select.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace recount::plot {
namespace {

/// Totals over the repetitions of the drawn points.
struct Tally {
  std::size_t least = 0, most = 0; ///< repetitions per measured point
  std::size_t measured = 0, flagged = 0;
  double least_running = 1;
  bool modelled = false;
};

Tally tally(const Selected& selected) {
  Tally t;
  for (const auto& curve : selected.curves) {
    const bool model = is_model(curve.witness);
    t.modelled = t.modelled || model;
    for (const auto& p : curve.points) {
      if (!p.y || model) continue;
      t.least = t.measured == 0 ? p.y->n : std::min(t.least, p.y->n);
      t.most = std::max(t.most, p.y->n);
      t.measured += p.y->n;
      t.flagged += p.flagged;
      t.least_running = std::min(t.least_running, p.least_running);
    }
  }
  return t;
}

std::string without(std::string text, std::string_view part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part))
    text.erase(at, part.size());
  return text;
}

/// Only the machines whose runs are drawn.
std::vector<std::string> machines(const result::Results& results, const Selected& selected) {
  std::set<std::string> drawn;
  for (const auto& curve : selected.curves)
    drawn.insert(curve.machine);
  return machine_names(results, [&](const std::string& machine) { return drawn.contains(machine); });
}
} // namespace

std::string machine_name(const result::Run& run) {
  const std::string name = run.cpu.empty() ? "unknown CPU" : without(without(run.cpu, "(R)"), "(TM)");
  return run.virtualised.empty() ? name : name + " (virtual machine: " + run.virtualised + ")";
}

std::vector<std::string> machine_names(const result::Results& results,
                                       const std::function<bool(const std::string&)>& wanted) {
  std::set<std::string> seen;
  std::vector<std::string> names;
  for (const auto& run : results.runs) {
    const std::string machine = run.cpu + " on " + run.host;
    if (!wanted(machine) || !seen.insert(machine).second) continue;
    if (std::string name = machine_name(run); std::ranges::find(names, name) == names.end())
      names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> statistic_texts(statistics::Statistic statistic, std::size_t least,
                                         std::size_t most) {
  if (most <= 1) return {"single runs"};
  std::string n = fmt::format("{}", most);
  if (least != most) n = fmt::format("up to {}", most);
  std::vector<std::string> texts{fmt::format("{} of {} repetitions", statistics::name_of(statistic), n)};
  if (statistic == statistics::Statistic::median)
    texts.emplace_back(most < statistics::least_for_interval ? "band: range" : "band: 95 % interval");
  return texts;
}

std::string disturbed_text(std::size_t disturbed, std::size_t all) {
  return fmt::format("{} of {} disturbed (more than {} % of their time lost)", disturbed,
                     base::format_count(all, "repetition"), result::disturbed_percent);
}

std::string modelled_text(const Sheet& sheet, bool measured) {
  if (!measured) return "modelled, not measured";
  const auto line = [](const Series& series) {
    return series.modelled && series.look != Series::Look::points && series.samples.size() > 1;
  };
  const bool dashed = std::ranges::any_of(
      sheet.panels, [&](const Panel& panel) { return std::ranges::any_of(panel.series, line); });
  return dashed ? "dashed: modelled, not measured" : "open markers: modelled, not measured";
}

std::string caption_text(const Entry& entry, const Sheet& sheet) {
  std::vector<std::string> panels;
  for (const auto& panel : sheet.panels)
    panels.push_back(panel.title);
  std::string prose = entry.prose;
  if (!prose.empty() && prose[0] >= 'a' && prose[0] <= 'z')
    prose[0] = static_cast<char>(prose[0] - 'a' + 'A');
  return fmt::format("{}: {}. {}.", prose, fmt::join(panels, "; "), fmt::join(sheet.caption, "; "));
}

void write_caption(Sheet& sheet, const result::Results& results, const Selected& selected) {
  const Tally t = tally(selected);
  sheet.warnings = selected.warnings;
  sheet.caption = machines(results, selected);
  if (t.measured > 0)
    for (auto& text : statistic_texts(results.statistic, t.least, t.most))
      sheet.caption.push_back(std::move(text));
  if (t.modelled) sheet.caption.push_back(modelled_text(sheet, t.measured > 0));
  if (std::any_of(sheet.panels.begin(), sheet.panels.end(), [](const auto& p) { return !p.marks.empty(); }))
    sheet.caption.push_back("dotted lines: stated capacities");
  if (t.least_running < 0.9995) {
    const auto share =
        fmt::format("multiplexed: counted at least {:.0f} % of the time", 100 * t.least_running);
    sheet.caption.push_back(share);
    sheet.warnings.push_back(share);
  }
  if (t.flagged > 0) {
    sheet.caption.push_back(disturbed_text(t.flagged, t.measured));
    sheet.warnings.push_back(sheet.caption.back());
  }
  std::map<std::string, std::vector<std::string>> metrics; // by witness
  for (const auto& [metric, witness, reason] : selected.missing) {
    metrics[witness].push_back(metric);
    sheet.warnings.push_back(fmt::format("not counted, not drawn: {} by {} ({})", metric, witness, reason));
  }
  for (const auto& [witness, names] : metrics)
    sheet.caption.push_back(fmt::format("not counted by {}: {}", witness, fmt::join(names, ", ")));
  for (const auto& curve : selected.curves) {
    const auto gaps =
        std::count_if(curve.points.begin(), curve.points.end(), [](const auto& p) { return !p.y; });
    if (gaps > 0)
      sheet.warnings.push_back(fmt::format("{} by {}, {}: gaps at {} without a value ({})", curve.metric,
                                           curve.witness, result::describe(curve.params),
                                           base::format_count(gaps, "point"), curve.reason));
  }
}

} // namespace recount::plot
