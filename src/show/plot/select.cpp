#include "show/plot/select.hpp"

#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "base/names.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "run/program.hpp"
#include "show/plot/layout.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/map.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <set>

namespace recount::plot {
namespace {
using result::Curve;

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::ranges::find(list, word) != list.end();
}

bool has_sizes(const result::Observation& o, const std::vector<std::string>& params) {
  return std::ranges::all_of(
      params, [&](const auto& name) { return result::integer(o.params, name).value_or(0) > 0; });
}

/// Whether a preset or event counts cache or TLB misses.
bool is_miss(std::string_view metric) {
  return (is_preset(metric) && (metric.ends_with("CM") || metric.ends_with("_DM"))) ||
         metric.find("MISS") != std::string::npos || metric.find("miss") != std::string::npos;
}

/// Lower is preferred: counted before modelled, this machine's caches before a described machine's.
std::pair<std::ptrdiff_t, Witness> rank(const Witness& witness) {
  static const std::array<Witness, 4> order{Witness::clock, Witness::perf, Witness::papi, Witness::model};
  return {std::ranges::find(order, witness) - order.begin(), witness};
}

/// The metrics of the curves that satisfy the first condition that any satisfies; all where none does.
std::set<std::string> metrics_by_preference(const std::vector<Curve>& curves,
                                            std::initializer_list<bool (*)(std::string_view)> preferences) {
  const auto all = curves | ranges::views::transform(&Curve::metric) | ranges::to<std::set<std::string>>();
  for (const auto wanted : preferences)
    if (auto some = all | ranges::views::filter(wanted) | ranges::to<std::set<std::string>>(); !some.empty())
      return some;
  return all;
}

/// Without a choice: seconds for times, misses for counts, and if there are none whatever was counted.
std::set<std::string> default_metrics(const Recipe& recipe, const std::vector<Curve>& curves) {
  if (recipe.quantity == Recipe::Quantity::time)
    return metrics_by_preference(curves, {[](std::string_view m) { return is_seconds(m); }, is_time});
  return metrics_by_preference(curves, {is_miss});
}

/// The words of one filter that occur, others replaced by what `replace` finds for them.
std::vector<std::string> resolve(const std::vector<std::string>& words, const std::set<std::string>& known,
                                 const std::string& option,
                                 const std::function<std::vector<std::string>(const std::string&)>& replace,
                                 std::vector<std::string>& warnings) {
  std::vector<std::string> found;
  const std::string hint = fmt::format("the results have {}", fmt::join(known, ", "));
  for (const auto& word : words) {
    const auto matches = known.contains(word) ? std::vector{word} : replace(word);
    if (matches.empty()) warnings.push_back(fmt::format("{} {} matches nothing; {}", option, word, hint));
    found.insert(found.end(), matches.begin(), matches.end());
  }
  if (!words.empty() && found.empty())
    throw bad_input(fmt::format("{} {}", option, fmt::join(words, ",")), "matches nothing in the results",
                    hint);
  return found;
}

/// Keeps, for each metric of each kernel, only the witness that is preferred; others are named in a warning.
void keep_preferred(Selected& s) {
  std::map<std::pair<std::string, std::string>, Witness> best;
  for (const auto& curve : s.curves) {
    auto& name = best[{curve.kernel, curve.metric}];
    if (name.empty() || rank(curve.witness) < rank(name)) name = curve.witness;
  }
  std::set<Witness> others;
  std::erase_if(s.curves, [&](const Curve& curve) {
    const bool drop = curve.witness != best[{curve.kernel, curve.metric}];
    if (drop) others.insert(curve.witness);
    return drop;
  });
  if (!others.empty())
    s.warnings.push_back(fmt::format("not drawn, select with --witness: {}", fmt::join(others, ", ")));
}

bool is_line(const Curve& curve) {
  return std::ranges::count_if(curve.points, [](const auto& p) { return p.y.has_value(); }) >= 2;
}

/// Where a kernel has curves, leaves out those that have single points only, which are named in a warning.
void keep_lines(Selected& s) {
  std::set<std::string> lines, points;
  for (const Curve& curve : s.curves)
    (is_line(curve) ? lines : points).insert(curve.kernel);
  std::erase_if(points, [&](const std::string& kernel) { return lines.empty() || lines.contains(kernel); });
  std::erase_if(s.curves, [&](const Curve& curve) { return points.contains(curve.kernel); });
  if (!points.empty())
    s.warnings.push_back(fmt::format("not drawn, no curve has two values: {}", fmt::join(points, ", ")));
}
} // namespace

Choice resolve(const Choice& choice, const result::Results& results, std::vector<std::string>& warnings) {
  std::set<std::string> metrics, witnesses;
  for (const auto& o : results.observations) {
    metrics.insert(o.metric);
    witnesses.insert(o.witness.name());
  }
  const auto none = [](const std::string&) { return std::vector<std::string>(); };
  const auto models = [&](const std::string& word) {
    return word != "model"
               ? std::vector<std::string>()
               : witnesses | ranges::views::filter([](const Witness& name) { return name.modelled(); }) |
                     ranges::to<std::vector>();
  };
  return {resolve(choice.metrics, metrics, "--metric", none, warnings),
          resolve(choice.witnesses | ranges::views::transform(&Witness::name) | ranges::to<std::vector>(),
                  witnesses, "--witness", models, warnings) |
              ranges::to<std::vector<Witness>>()};
}

bool in_interval(const result::Observation& o) {
  return o.kernel == "command" && o.params.contains("interval");
}

bool is_interval(const result::Observation& o) {
  return in_interval(o) && o.witness != Witness::clock && result::integer(o.params, "begin_us") &&
         o.seconds.value_or(0) > 0;
}

bool is_profile(const result::Observation& o) {
  return o.kernel == "profile";
}

namespace {

bool of_program(const result::Observation& o) {
  return o.kernel == sweep::program_kernel;
}

/// Of a program's parameters the one with most numbers; empty: none has two.
std::string longest_axis(const result::Results& results) {
  std::map<std::string, std::set<std::int64_t>> values;
  for (const auto& o : results.observations)
    for (const auto& [name, value] : of_program(o) ? o.params.get() : result::Params())
      if (const auto number = result::integer(o.params, name)) values[name].insert(*number);
  const auto longest =
      std::ranges::max_element(values, {}, [](const auto& axis) { return axis.second.size(); });
  return longest == values.end() || longest->second.size() < 2 ? "" : longest->first;
}

} // namespace

Selected select(const Recipe& recipe, const result::Results& given, const Choice& choice) {
  const bool time = recipe.quantity == Recipe::Quantity::time;
  const result::Results own = recipe.program ? sweep::with_speed_up(given) : result::Results();
  const result::Results& results = recipe.program ? own : given;
  // What an inference visited is no sweep.
  std::set<std::string> records;
  for (const auto& run : results.runs)
    if (result::is_inference(run)) records.insert(run.id);
  const auto wanted = [&](const result::Observation& o) {
    return recipe.program == of_program(o) && !(records.contains(o.run) && result::is_reading(o)) &&
           has_sizes(o, recipe.required) && (recipe.program || is_time(o.metric) == time) &&
           (choice.metrics.empty() || contains(choice.metrics, o.metric)) &&
           (choice.witnesses.empty() ||
            std::ranges::find(choice.witnesses, o.witness) != choice.witnesses.end());
  };
  const result::Measure measure = [time, &recipe](const result::Observation& o) {
    if (recipe.program) return result::value(o);
    return time && is_seconds(o.metric) ? result::ns_per_access(o) : result::per_access(o);
  };
  Selected s;
  s.x = recipe.program ? longest_axis(results) : recipe.x;
  s.curves = result::curves(results, s.x, wanted, measure);
  if (choice.metrics.empty() && !recipe.program) {
    const auto metrics = default_metrics(recipe, s.curves);
    std::erase_if(s.curves, [&](const Curve& c) { return !metrics.contains(c.metric); });
  }
  std::map<std::pair<Witness, std::string>, std::string> missing;
  for (const auto& c : s.curves) {
    if (!c.counted()) missing.emplace(std::pair(c.witness, c.metric), c.reason);
  }
  std::erase_if(s.curves, [](const Curve& c) { return !c.counted(); });
  for (const auto& c : s.curves)
    missing.erase({c.witness, c.metric}); // partly counted: a gap in the curves shows it
  for (const auto& [who, reason] : missing)
    s.missing.push_back({who.second, who.first, reason});
  if (choice.witnesses.empty() && !recipe.program) keep_preferred(s);
  keep_lines(s);
  return s;
}

bool drawable(const Selected& selected) {
  return std::ranges::any_of(selected.curves, is_line);
}

std::string inventory(const result::Results& results) {
  std::map<std::string, std::set<std::string>> metrics;
  std::map<std::string, std::map<std::string, std::set<result::ParamValue>>> params;
  for (const auto& o : results.observations) {
    metrics[o.kernel].insert(o.metric + " by " + o.witness.name() +
                             (result::as_double(o.value) ? "" : " (not counted)"));
    for (const auto& [name, setting] : o.params)
      params[o.kernel][name].insert(setting);
  }
  std::vector<std::string> kernels;
  for (const auto& [kernel, names] : metrics) {
    std::string& text =
        kernels.emplace_back(fmt::format("kernel {} with {}", kernel, fmt::join(names, ", ")));
    for (const auto& [name, settings] : params[kernel])
      if (settings.size() > 1) text += fmt::format(", {}: {} values", name, settings.size());
  }
  return kernels.empty() ? "no observations" : fmt::format("{}", fmt::join(kernels, "; "));
}

namespace {
using CurvesOfPanel = std::vector<const Curve*>;

constexpr std::size_t max_panels = 6;

std::string setting_text(const std::string& name, const result::ParamValue& setting) {
  if (const auto* word = std::get_if<std::string>(&setting))
    return name == "file" ? std::filesystem::path(*word).stem().string() : *word;
  const auto number = static_cast<double>(std::get<std::int64_t>(setting));
  return name == "size" || name == "stride" ? base::format_bytes(number)
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
  std::set<std::string> machines, kernels, metrics;
  std::set<Witness> witnesses;
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

/// "L1 data-cache misses" of PAPI_L1_DCM, as the axes and tables say; other metrics by their names.
std::string metric_words(const std::string& metric, bool compact) {
  const bool data_misses = metric.size() == 11 && metric.starts_with("PAPI_L") && metric.ends_with("_DCM");
  return data_misses ? fmt::format("L{} {}misses", metric[6], compact ? "" : "data-cache ") : metric;
}

std::string make_label(const Curve& c, const Differences& d, bool compact) {
  std::vector<std::string> parts;
  if (d.kernel) parts.push_back(c.kernel);
  if (d.metric) parts.push_back(metric_words(c.metric, compact));
  if (d.witness) parts.push_back(c.witness.name() + (c.witness.modelled() ? " (modelled)" : ""));
  for (const auto& name : d.params) {
    const auto found = c.params.find(name);
    if (found != c.params.end()) parts.push_back(setting_text(name, found->second));
  }
  if (d.machine) {
    const std::string machine = c.machine.substr(d.same_cpu);
    parts.push_back(compact && d.same_cpu > 0 ? machine.substr(0, machine.find('.')) : machine);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

Series make_series(const Curve& c, const Differences& d) {
  Series s{make_label(c, d, false), make_label(c, d, true), {}, c.witness.modelled(), false};
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  for (const auto& p : c.points) {
    s.samples.push_back(p.y ? Sample{p.x, p.y->value, p.y->low, p.y->high} : Sample{p.x, none, none, none});
    s.band = s.band || (p.y && p.y->high > p.y->low);
  }
  return s;
}

std::string y_title(const Recipe& recipe, const CurvesOfPanel& curves) {
  if (recipe.program) {
    const std::string& metric = curves.front()->metric;
    return is_seconds(metric) ? "time (s)" : metric_words(metric, false);
  }
  const auto all = [&](auto test) {
    return std::ranges::all_of(curves, [&](const auto* c) { return test(c->metric); });
  };
  if (all([](const auto& m) { return is_seconds(m); })) return "time per access (ns)";
  if (all([](const auto& m) { return is_tsc_cycles(m); })) return "TSC cycles per access";
  return all(is_miss) ? "misses per access" : "events per access";
}

/// What holds for all curves of a panel: kernel, metric, witness, fixed parameters.
std::string make_title(const CurvesOfPanel& curves, const Differences& d, const std::string& x) {
  const Curve& c = *curves.front();
  std::vector<std::string> parts;
  const bool program = c.kernel == sweep::program_kernel;
  if (!d.kernel && !program) parts.push_back("kernel " + c.kernel);
  if (program && is_seconds(c.metric)) parts.emplace_back("time");
  if (!d.metric && !is_time(c.metric)) parts.push_back(metric_words(c.metric, false));
  if (!d.witness) parts.push_back(base::format_witness(c.witness));
  for (const auto& [name, setting] : c.params) {
    if (name != x && !contains(d.params, name) && (program || name == "size" || name == "stride"))
      parts.push_back(name + " " + setting_text(name, setting));
  }
  return fmt::format("{}{}{}", fmt::join(parts, ", "), d.params.empty() ? "" : "; by ",
                     fmt::join(d.params, ", "));
}

std::vector<Mark> capacities(const result::Results& results, const CurvesOfPanel& curves) {
  // A described machine has other caches than the one that ran the sweep.
  const bool here =
      std::ranges::any_of(curves, [](const auto* c) { return !c->witness.described_machine(); });
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

/// Of 4 KiB, as std::bit_width() counts them.
constexpr int min_doublings = 13;

} // namespace

void colour_by_bytes(std::vector<Series>& series, const std::vector<std::int64_t>& bytes) {
  std::set<int> taken;
  std::vector<int> lines;
  for (const std::int64_t size : bytes) {
    const int doublings =
        static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1))));
    lines.push_back(first_step + (doublings + steps - min_doublings % steps) % steps);
    taken.insert(lines.back());
  }
  if (taken.size() < series.size()) return; // two sizes would share one
  for (std::size_t i = 0; i < series.size(); ++i)
    series[i].linetype = lines[i];
}

std::vector<Panel> small_multiples(Panel panel) {
  const auto unnamed = [](const Series& series) {
    return series.label.empty() || series.look == Series::Look::level;
  };
  const std::size_t curves = panel.series.size(), parts = (curves + max_curves - 1) / max_curves;
  if (parts < 2 || panel.ordered || std::ranges::any_of(panel.series, unnamed)) return {std::move(panel)};
  std::vector<Panel> panels;
  for (std::size_t part = 0; part < parts; ++part) {
    Panel& one = panels.emplace_back(panel);
    one.title += fmt::format(" ({} of {})", part + 1, parts);
    const auto at = [&](std::size_t k) {
      return panel.series.begin() + static_cast<std::ptrdiff_t>(k * curves / parts);
    };
    one.series.assign(at(part), at(part + 1));
  }
  return panels;
}

namespace {

/// Logarithmic from an octave of three on, where all are positive.
Panel::Along choose_x_axis(const CurvesOfPanel& curves) {
  double least = std::numeric_limits<double>::max(), most = 0;
  for (const Curve* curve : curves)
    for (const auto& point : curve->points) {
      least = std::min(least, point.x);
      most = std::max(most, point.x);
    }
  return least > 0 && most > 8 * least ? Panel::Along::number : Panel::Along::linear;
}

Panel make_panel(const Recipe& recipe, const result::Results& results, const std::string& x,
                 const CurvesOfPanel& curves) {
  const auto d = differences(curves);
  Panel panel;
  panel.title = make_title(curves, d, x);
  panel.x_title = x == "size" ? "working set" : x;
  panel.y_title = y_title(recipe, curves);
  panel.y_is_time = recipe.quantity == Recipe::Quantity::time;
  panel.y_is_share = recipe.quantity == Recipe::Quantity::count && !recipe.program;
  panel.y_decades = recipe.program;
  if (recipe.program && x != "size") panel.x_along = choose_x_axis(curves);
  panel.ordered = d.params.size() == 1 && (d.params[0] == "size" || d.params[0] == "stride") && !d.kernel &&
                  !d.metric && !d.witness && !d.machine;
  panel.series_title = panel.ordered ? d.params[0] : "";
  for (const auto* c : curves)
    panel.series.push_back(make_series(*c, d));
  if (panel.ordered) {
    colour_by_bytes(panel.series, base::mapped(curves, [&](const auto* c) {
                      return result::integer(c->params, d.params[0]).value_or(0);
                    }));
  }
  if (recipe.capacities && (!recipe.program || x == "size")) panel.marks = capacities(results, curves);
  return panel;
}

/// Of several parameters all but the one with most values, as far as the panels fit on a page.
std::vector<std::string> panel_parameters(const std::vector<Curve>& curves) {
  std::vector<std::string> names = result::varying(curves);
  std::map<std::string, std::set<result::ParamValue>> values;
  std::set<std::string> metrics;
  for (const Curve& curve : curves) {
    metrics.insert(curve.metric);
    for (const std::string& name : names)
      values[name].insert(curve.params.at(name));
  }
  const auto count = [&](const std::string& name) { return values[name].size(); };
  if (names.size() < 2) return {};
  names.erase(std::ranges::max_element(names, {}, count));
  std::size_t panels = metrics.size();
  for (const std::string& name : names)
    panels *= count(name);
  return panels <= max_panels ? names : std::vector<std::string>();
}

/// A few curves share one panel, as do the times of more kernels than there can be panels.
std::vector<CurvesOfPanel> split(const Recipe& recipe, const std::vector<Curve>& curves) {
  const bool crowded = curves.size() > 7;
  const auto kernels =
      curves | ranges::views::transform(&Curve::kernel) | ranges::to<std::set<std::string>>();
  std::map<std::vector<std::string>, CurvesOfPanel> groups;
  const auto further = recipe.program ? panel_parameters(curves) : std::vector<std::string>();
  for (const auto& c : curves) {
    if (recipe.program) {
      std::vector<std::string> key{is_seconds(c.metric) ? "" : c.metric}; // times first
      for (const std::string& name : further)
        key.push_back(result::text(c.params.at(name)));
      groups[key].push_back(&c);
      continue;
    }
    const bool time = is_time(c.metric);
    const bool each = recipe.panel_each || (crowded && (!time || kernels.size() <= max_panels));
    groups[each ? std::vector{c.kernel, c.metric, c.witness.name()}
                : std::vector<std::string>{time ? c.metric : ""}]
        .push_back(&c);
  }
  return groups | ranges::views::values | ranges::to<std::vector>();
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
  Sheet sheet;
  sheet.name = recipe.entry.name;
  std::vector<Panel> multiples;
  for (const auto& curves : panels) {
    sheet.panels.push_back(make_panel(recipe, results, selected.x, curves));
    std::ranges::move(small_multiples(sheet.panels.back()), std::back_inserter(multiples));
  }
  const bool distinct = std::ranges::all_of(
      sheet.panels, [](const Panel& panel) { return panel.ordered || panel.series.size() <= steps; });
  if (multiples.size() <= max_panels || !distinct) sheet.panels = std::move(multiples);
  if (sheet.panels.size() > max_panels)
    throw bad_input("figure " + recipe.entry.name,
                    fmt::format("{} panels, at most {} fit on a page", sheet.panels.size(), max_panels),
                    "select with --metric and --witness");
  write_caption(sheet, results, selected);
  return sheet;
}

namespace {

/// Totals over the repetitions of the drawn points.
struct Tally {
  std::size_t least = 0, most = 0; ///< repetitions per measured point
  std::size_t measured = 0, flagged = 0;
  double min_running = 1;
  bool modelled = false;
};

Tally tally(const Selected& selected) {
  Tally t;
  for (const auto& curve : selected.curves) {
    const bool model = curve.witness.modelled();
    t.modelled = t.modelled || model;
    for (const auto& p : curve.points) {
      if (!p.y || model) continue;
      t.least = t.measured == 0 ? p.y->n : std::min(t.least, p.y->n);
      t.most = std::max(t.most, p.y->n);
      t.measured += p.y->n;
      t.flagged += p.flagged;
      t.min_running = std::min(t.min_running, p.min_running);
    }
  }
  return t;
}
} // namespace

std::string machine_name(const result::Run& run) {
  std::string name = run.cpu.empty() ? "unknown CPU" : run.cpu;
  for (const std::string_view mark : {"(R)", "(TM)"})
    for (auto at = name.find(mark); at != name.npos; at = name.find(mark))
      name.erase(at, mark.size());
  const bool itself = run.virtualised.empty() || host::is_emulated(run.cpu);
  return itself ? name : name + " (virtual machine: " + run.virtualised + ")";
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
  std::vector<std::string> texts{fmt::format("{} of {}{} repetitions", statistics::name_of(statistic),
                                             least != most ? "up to " : "", most)};
  if (statistic == statistics::Statistic::median)
    texts.emplace_back(most < statistics::min_for_interval ? "band: range" : "band: 95 % interval");
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
  std::string prose = sheet.prose.empty() ? entry.prose : sheet.prose;
  for (const Promise& promise : entry.promises)
    if (prose.find(promise.words) != prose.npos && !promise.kept(sheet))
      throw bad_input("figure " + sheet.name,
                      fmt::format("lacks what its caption promises: {}", promise.words),
                      result::contradiction_fix);
  for (const Panel& panel : sheet.panels)
    for (const Series& series : panel.series)
      for (const Sample& sample : series.samples)
        if (panel.y_title.ends_with("hit rate") && !(sample.low >= 0 && sample.high <= 1))
          throw bad_input(fmt::format("figure {}: {}: {}", sheet.name, panel.title, series.label),
                          fmt::format("{} is a rate outside 0 to 1", sample.y), result::contradiction_fix);
  if (!prose.empty() && prose[0] >= 'a' && prose[0] <= 'z')
    prose[0] = static_cast<char>(prose[0] - 'a' + 'A');
  return fmt::format("{}: {}. {}.", prose,
                     fmt::join(sheet.panels | ranges::views::transform(&Panel::title), "; "),
                     fmt::join(sheet.caption, "; "));
}

void write_caption(Sheet& sheet, const result::Results& results, const Selected& selected) {
  const Tally t = tally(selected);
  sheet.warnings = selected.warnings;
  const auto drawn =
      selected.curves | ranges::views::transform(&Curve::machine) | ranges::to<std::set<std::string>>();
  sheet.caption = machine_names(results, [&](const std::string& machine) { return drawn.contains(machine); });
  if (t.measured > 0)
    for (auto& text : statistic_texts(results.statistic, t.least, t.most))
      sheet.caption.push_back(std::move(text));
  if (cuts_bands(sheet.panels)) sheet.caption.emplace_back(cut_bands_text);
  if (t.modelled) sheet.caption.push_back(modelled_text(sheet, t.measured > 0));
  if (std::ranges::any_of(sheet.panels, [](const Panel& p) { return !p.marks.empty(); }))
    sheet.caption.push_back("dotted lines: stated capacities");
  if (t.min_running < 0.9995) {
    const auto share = fmt::format("multiplexed: counted at least {:.0f} % of the time", 100 * t.min_running);
    sheet.caption.push_back(share);
    sheet.warnings.push_back(share);
  }
  if (t.flagged > 0) {
    // First: in a figure of one column the caption has one line.
    sheet.caption.insert(sheet.caption.begin(), disturbed_text(t.flagged, t.measured));
    sheet.warnings.push_back(sheet.caption.front());
  }
  std::map<Witness, std::vector<std::string>> metrics;
  for (const auto& [metric, witness, reason] : selected.missing) {
    metrics[witness].push_back(metric);
    sheet.warnings.push_back(fmt::format("not counted, not drawn: {} by {} ({})", metric, witness, reason));
  }
  for (const auto& [witness, names] : metrics)
    sheet.caption.push_back(fmt::format("not counted by {}: {}", witness, fmt::join(names, ", ")));
  for (const auto& curve : selected.curves) {
    const auto gaps = std::ranges::count_if(curve.points, [](const auto& p) { return !p.y; });
    if (gaps > 0)
      sheet.warnings.push_back(fmt::format("{} by {}, {}: gaps at {} without a value ({})", curve.metric,
                                           curve.witness, result::describe(curve.params),
                                           base::format_count(gaps, "point"), curve.reason));
  }
}

// The table of figures: looking one up, and the figures of curves as data.
namespace {

/// Times before counts; of the two axes the one along which the curves are longer.
const Recipe* longest_curves(const result::Results& results, const Choice& choice) {
  const Recipe* best = nullptr;
  std::size_t longest = 0;
  for (const auto& r : recipes()) {
    const auto selected = select(r, results, choice);
    if (!drawable(selected) || (best && best->quantity != r.quantity)) continue;
    for (const auto& curve : selected.curves) {
      if (best && curve.points.size() <= longest) continue;
      best = &r;
      longest = curve.points.size();
    }
  }
  return best;
}

} // namespace

const std::vector<Recipe>& recipes() {
  using enum Recipe::Quantity;
  static const std::string by_stride = "of a kernel with size and stride, at two strides or more",
                           by_size = "of a kernel with size, at two sizes or more",
                           times = "times (witness clock) ",
                           misses = "cache misses (witness perf, papi or model) ";
  static const std::vector<Recipe> all{
      {.entry = {"access-time", "mean access time against stride, one curve per size", times + by_stride},
       .x = "stride",
       .required = {"size", "stride"},
       .panel_each = true},
      {.entry = {"working-set", "access time against the size of the working set", times + by_size},
       .x = "size",
       .required = {"size"},
       .capacities = true},
      {.entry = {"misses", "average misses per access against stride, one curve per size",
                 misses + by_stride},
       .x = "stride",
       .required = {"size", "stride"},
       .quantity = count,
       .panel_each = true},
      {.entry = {"working-set-misses", "misses per access against the size of the working set",
                 misses + by_size},
       .x = "size",
       .required = {"size"},
       .quantity = count,
       .capacities = true},
      {.entry = {"program", "times and counts of a program by parameter",
                 "recount sweep -P: a number with two values or more"},
       .quantity = count,
       .capacities = true,
       .program = true}};
  return all;
}

std::vector<Figure> curve_figures() {
  std::vector<Figure> figures;
  for (const Recipe& recipe : recipes())
    figures.push_back(
        {recipe.entry,
         [&recipe](const auto& results, const auto& choice) { return compose(recipe, results, choice); },
         [&recipe](const auto& results, const auto& choice) {
           return longest_curves(results, choice) == &recipe;
         }});
  return figures;
}

const Figure& find(const std::vector<Figure>& figures, std::string_view name) {
  std::vector<std::string> all;
  for (const auto& figure : figures) {
    if (figure.entry.name == name) return figure;
    all.push_back(figure.entry.name);
  }
  throw bad_input("--figure " + std::string(name), "no such figure",
                  base::did_you_mean(name, all, "recount plot --list"));
}

const Figure& suitable(const std::vector<Figure>& figures, const result::Results& results,
                       const Choice& choice) {
  for (const auto& figure : figures)
    if (figure.suits && figure.suits(results, choice)) return figure;
  std::string needs;
  for (const auto& figure : figures)
    needs += "\n    " + figure.entry.name + " needs " + figure.entry.needs;
  throw bad_input("nothing to draw", "the results have " + inventory(results), "the figures need:" + needs);
}

// The formats of figures.
namespace {
/// In the order of Format.
constexpr std::array<std::string_view, 6> format_names{"pdf", "svg", "png", "tikz", "cairolatex", "dumb"},
    suffixes{".pdf", ".svg", ".png", ".tikz", ".tex", ".txt"};

std::string suffix_of(Format format) {
  return std::string(suffixes[static_cast<std::size_t>(format)]);
}
} // namespace

Format parse_format(const std::string& name) {
  const auto* const at = std::ranges::find(format_names, name);
  if (at == format_names.end())
    throw bad_input(name, "no such figure format",
                    base::did_you_mean_or_all(name, {format_names.begin(), format_names.end()}));
  return static_cast<Format>(at - format_names.begin());
}

std::string name_of(Format format) {
  return std::string(format_names[static_cast<std::size_t>(format)]);
}

std::optional<Format> format_by_suffix(const std::string& path) {
  const auto* const at =
      std::ranges::find_if(suffixes, [&](std::string_view suffix) { return path.ends_with(suffix); });
  return at == suffixes.end() ? std::nullopt : std::optional(static_cast<Format>(at - suffixes.begin()));
}

std::string with_suffix(const std::string& path, Format format) {
  const auto named = format_by_suffix(path);
  return path.substr(0, path.size() - (named ? suffix_of(*named).size() : 0)) +
         (format == Format::cairolatex ? "-latex.tex" : suffix_of(format));
}

} // namespace recount::plot
