#include "plot/select.hpp"

#include "plot/text.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

namespace recount::plot {
namespace {
using result::Curve;
using CurvesOfPanel = std::vector<const Curve*>;

constexpr std::size_t most_panels = 6;

std::string setting_text(const std::string& name, const result::ParamValue& setting, bool compact) {
  if (const auto* word = std::get_if<std::string>(&setting))
    return name == "file" ? std::filesystem::path(*word).stem().string() : *word;
  const auto number = static_cast<double>(std::get<std::int64_t>(setting));
  return name == "size" || name == "stride" ? base::format_bytes(number, compact)
                                            : fmt::format("{}", std::get<std::int64_t>(setting));
}

/// The parameters that distinguish the curves of a panel.
struct Differences {
  bool machine = false, kernel = false, metric = false, witness = false;
  std::vector<std::string> params;
  std::size_t same_cpu = 0; ///< characters of "CPU on HOST" up to the host, if all have that CPU
};

/// Length of "CPU on ", where all machines begin with it.
std::size_t common_cpu(const std::set<std::string>& machines) {
  constexpr std::string_view on = " on ";
  const std::size_t at = machines.empty() ? std::string::npos : machines.begin()->rfind(on);
  if (at == std::string::npos) return 0;
  const std::string cpu = machines.begin()->substr(0, at + on.size());
  return std::ranges::all_of(machines, [&](const auto& m) { return m.starts_with(cpu); }) ? cpu.size() : 0;
}

Differences differences(const CurvesOfPanel& curves) {
  std::set<std::string> machines, kernels, metrics, witnesses;
  std::vector<Curve> bare; // varying() looks at the params only
  for (const auto* c : curves) {
    machines.insert(c->machine);
    kernels.insert(c->kernel);
    metrics.insert(c->metric);
    witnesses.insert(c->witness);
    bare.emplace_back().params = c->params;
  }
  return {machines.size() > 1,  kernels.size() > 1,    metrics.size() > 1,
          witnesses.size() > 1, result::varying(bare), common_cpu(machines)};
}

std::string label_of(const Curve& c, const Differences& d, bool compact) {
  std::vector<std::string> parts;
  if (d.kernel) parts.push_back(c.kernel);
  if (d.metric) parts.push_back(c.metric);
  if (d.witness) parts.push_back(is_model(c.witness) ? c.witness + " (modelled)" : c.witness);
  for (const auto& name : d.params) {
    const auto found = c.params.find(name);
    if (found != c.params.end()) parts.push_back(setting_text(name, found->second, compact));
  }
  if (d.machine) {
    const std::string machine = c.machine.substr(d.same_cpu);
    parts.push_back(compact && d.same_cpu > 0 ? machine.substr(0, machine.find('.')) : machine);
  }
  std::string text;
  for (const auto& part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

Series series_of(const Curve& c, const Differences& d) {
  Series s{label_of(c, d, false), label_of(c, d, true), {}, is_model(c.witness), false};
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  for (const auto& p : c.points) {
    s.samples.push_back(p.y ? Sample{p.x, p.y->value, p.y->low, p.y->high} : Sample{p.x, none, none, none});
    s.band = s.band || (p.y && p.y->high > p.y->low);
  }
  return s;
}

std::string y_title(const CurvesOfPanel& curves) {
  const auto all = [&](auto test) {
    return std::all_of(curves.begin(), curves.end(), [&](const auto* c) { return test(c->metric); });
  };
  if (all([](const auto& m) { return m == "seconds"; })) return "time per access (ns)";
  if (all([](const auto& m) { return m == "tsc_cycles"; })) return "TSC cycles per access";
  return all(is_miss) ? "misses per access" : "events per access";
}

/// What holds for all curves of a panel: kernel, metric, witness, fixed parameters.
std::string title_of(const CurvesOfPanel& curves, const Differences& d, const std::string& x) {
  const Curve& c = *curves.front();
  std::vector<std::string> parts;
  if (!d.kernel) parts.push_back("kernel " + c.kernel);
  if (!d.metric && !is_time(c.metric)) parts.push_back(c.metric);
  if (!d.witness)
    parts.push_back(is_model(c.witness) ? "modelled (witness " + c.witness + ")" : "witness " + c.witness);
  for (const auto& [name, setting] : c.params) {
    if (name != x && std::find(d.params.begin(), d.params.end(), name) == d.params.end() &&
        (name == "size" || name == "stride"))
      parts.push_back(name + " " + setting_text(name, setting, false));
  }
  std::string text;
  for (const auto& part : parts)
    text += (text.empty() ? "" : ", ") + part;
  for (std::size_t i = 0; i < d.params.size(); ++i)
    text += (i == 0 ? "; by " : ", ") + d.params[i];
  return text;
}

std::vector<Mark> capacities(const result::Results& results, const CurvesOfPanel& curves) {
  // A described machine has other caches than the one that ran the sweep.
  const bool here = std::any_of(curves.begin(), curves.end(),
                                [](const auto* c) { return !c->witness.starts_with("model:"); });
  std::map<std::string, std::int64_t> sizes;
  bool differ = false;
  for (const auto& run : results.runs) {
    for (const auto& cache : run.caches) {
      const auto [at, added] = sizes.emplace(cache.level, cache.size);
      differ = differ || at->second != cache.size;
    }
  }
  std::vector<Mark> marks;
  if (!here || differ) return marks;
  for (const auto& [level, size] : sizes) {
    if (size > 0) marks.push_back({static_cast<double>(size), level + " " + base::format_bytes(size)});
  }
  return marks;
}

Panel panel_of(const Recipe& recipe, const result::Results& results, const std::string& x,
               const CurvesOfPanel& curves) {
  const auto d = differences(curves);
  Panel panel;
  panel.title = title_of(curves, d, x);
  panel.x_title = x == "size" && recipe.kernel.empty() ? "working set" : x;
  if (!recipe.kernel.empty()) panel.x_along = Panel::Along::settings;
  panel.y_title = y_title(curves);
  panel.y_is_time = recipe.quantity == Recipe::Quantity::time;
  panel.y_is_share = recipe.quantity == Recipe::Quantity::count;
  panel.ordered = d.params.size() == 1 && (d.params[0] == "size" || d.params[0] == "stride") && !d.kernel &&
                  !d.metric && !d.witness && !d.machine;
  panel.series_title = panel.ordered ? d.params[0] : "";
  for (const auto* c : curves)
    panel.series.push_back(series_of(*c, d));
  if (recipe.capacities) panel.marks = capacities(results, curves);
  return panel;
}

/// Sheets with one curve only need no panel for each metric: where it is few curves, they share one.
std::vector<CurvesOfPanel> split(const Recipe& recipe, const std::vector<Curve>& curves) {
  const bool crowded = curves.size() > 7;
  std::map<std::vector<std::string>, CurvesOfPanel> groups;
  for (const auto& c : curves) {
    const bool time = is_time(c.metric);
    const bool each = recipe.panel_each || (crowded && !time);
    groups[each ? std::vector{c.kernel, c.metric, c.witness} : std::vector<std::string>{time ? c.metric : ""}]
        .push_back(&c);
  }
  std::vector<CurvesOfPanel> panels;
  for (auto& [key, group] : groups)
    panels.push_back(std::move(group));
  return panels;
}
} // namespace

Sheet compose(const Recipe& recipe, const result::Results& results, const Choice& choice) {
  const auto selected = select(recipe, results, choice);
  if (!drawable(selected)) {
    std::string holds = "the results have " + inventory(results);
    for (const auto& missing : selected.missing)
      holds +=
          fmt::format("; {} by {} was not counted ({})", missing.metric, missing.witness, missing.reason);
    throw bad_input("figure " + recipe.entry.name, holds, "this figure needs " + recipe.entry.needs);
  }
  const auto panels = split(recipe, selected.curves);
  if (panels.size() > most_panels)
    throw bad_input("figure " + recipe.entry.name,
                    fmt::format("{} panels, at most {} fit on a page", panels.size(), most_panels),
                    "select with --metric and --witness");
  Sheet sheet;
  sheet.name = recipe.entry.name;
  for (const auto& curves : panels)
    sheet.panels.push_back(panel_of(recipe, results, selected.x, curves));
  write_caption(sheet, results, selected);
  return sheet;
}

} // namespace recount::plot
