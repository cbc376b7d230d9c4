#include "plot/select.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <unordered_set>

namespace recount::plot {
namespace {
using result::Curve;

bool contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool has(const result::Observation& o, const std::vector<std::string>& params) {
  return std::all_of(params.begin(), params.end(), [&](const auto& name) {
    const auto found = o.params.find(name);
    return found != o.params.end() && std::holds_alternative<std::int64_t>(found->second) &&
           std::get<std::int64_t>(found->second) > 0;
  });
}

/// The numeric parameter of a kernel that takes most values; the first by name of several.
std::string most_varied(const result::Results& results, const std::string& kernel) {
  std::map<std::string, std::set<std::int64_t>> values;
  for (const auto& o : results.observations)
    if (o.kernel == kernel)
      for (const auto& [name, value] : o.params)
        if (const auto* const number = std::get_if<std::int64_t>(&value); number && *number > 0)
          values[name].insert(*number);
  const auto most = std::max_element(values.begin(), values.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  return most == values.end() ? "" : most->first;
}

/// Lower is preferred: counted before modelled, this machine's caches before a described machine's.
int rank(const std::string& witness) {
  static const std::array<std::string, 4> order{"clock", "perf", "papi", "model"};
  const auto* const at = std::find(order.begin(), order.end(), witness);
  return static_cast<int>(at - order.begin());
}

bool of_quantity(const Recipe& recipe, const std::string& metric) {
  return is_time(metric) == (recipe.quantity == Recipe::Quantity::time);
}

std::vector<std::string> metrics_of(const std::vector<Curve>& curves, bool (*wanted)(const std::string&)) {
  std::set<std::string> names;
  for (const auto& curve : curves) {
    if (wanted(curve.metric)) names.insert(curve.metric);
  }
  return {names.begin(), names.end()};
}

/// Without a choice: seconds for times, misses for counts, and if there are none whatever was counted.
std::vector<std::string> default_metrics(const Recipe& recipe, const std::vector<Curve>& curves) {
  if (recipe.quantity == Recipe::Quantity::time) {
    const auto seconds = metrics_of(curves, [](const std::string& m) { return m == "seconds"; });
    return seconds.empty() ? metrics_of(curves, is_time) : seconds;
  }
  const auto misses = metrics_of(curves, is_miss);
  return misses.empty() ? metrics_of(curves, [](const std::string&) { return true; }) : misses;
}

/// The words of one filter that are there, others replaced by what `also` finds for them.
std::vector<std::string> resolve(const std::vector<std::string>& words, const std::set<std::string>& there,
                                 const std::string& option,
                                 const std::function<std::vector<std::string>(const std::string&)>& also,
                                 std::vector<std::string>& warnings) {
  std::vector<std::string> found, without;
  for (const auto& word : words) {
    auto matches = there.contains(word) ? std::vector{word} : also ? also(word) : std::vector<std::string>();
    if (matches.empty()) without.push_back(fmt::format("{} {}", option, word));
    found.insert(found.end(), matches.begin(), matches.end());
  }
  const std::string hint = fmt::format("the results have {}", fmt::join(there, ", "));
  if (!words.empty() && found.empty())
    throw bad_input(fmt::format("{} {}", option, fmt::join(words, ",")), "matches nothing in the results",
                    hint);
  for (const auto& text : without)
    warnings.push_back(text + " matches nothing; " + hint);
  return found;
}

/// Keeps, for each metric of each kernel, only the witness that is preferred; others are named in a warning.
void keep_preferred(Selected& s) {
  std::map<std::pair<std::string, std::string>, std::string> best;
  for (const auto& curve : s.curves) {
    auto& name = best[{curve.kernel, curve.metric}];
    if (name.empty() || std::pair(rank(curve.witness), curve.witness) < std::pair(rank(name), name))
      name = curve.witness;
  }
  std::set<std::string> others;
  std::erase_if(s.curves, [&](const Curve& curve) {
    const bool drop = curve.witness != best[{curve.kernel, curve.metric}];
    if (drop) others.insert(curve.witness);
    return drop;
  });
  if (!others.empty())
    s.warnings.push_back(fmt::format("not drawn, select with --witness: {}", fmt::join(others, ", ")));
}
} // namespace

Choice resolve(const Choice& choice, const result::Results& results, std::vector<std::string>& warnings) {
  std::set<std::string> metrics, witnesses;
  for (const auto& o : results.observations) {
    metrics.insert(o.metric);
    witnesses.insert(o.witness);
  }
  const auto models = [&](const std::string& word) {
    std::vector<std::string> found;
    if (word == "model") std::ranges::copy_if(witnesses, std::back_inserter(found), is_model);
    return found;
  };
  return {resolve(choice.metrics, metrics, "--metric", {}, warnings),
          resolve(choice.witnesses, witnesses, "--witness", models, warnings)};
}

bool is_interval(const result::Observation& o) {
  const auto begin = o.params.find("begin_us");
  return o.kernel == "command" && o.witness != "clock" && o.params.contains("interval") &&
         begin != o.params.end() && std::holds_alternative<std::int64_t>(begin->second) && o.seconds &&
         *o.seconds > 0;
}

bool is_profile(const result::Observation& o) {
  return o.kernel == "profile";
}

bool is_model(const std::string& witness) {
  return witness == "model" || witness.starts_with("model:");
}

bool is_time(const std::string& metric) {
  return metric == "seconds" || metric == "tsc_cycles";
}

bool is_miss(const std::string& metric) {
  return (metric.starts_with("PAPI_") && (metric.ends_with("CM") || metric.ends_with("_DM"))) ||
         metric.find("MISS") != std::string::npos || metric.find("miss") != std::string::npos;
}

Selected select(const Recipe& recipe, const result::Results& results, const Choice& choice) {
  const bool time = recipe.quantity == Recipe::Quantity::time;
  // What an inference visited is no sweep.
  std::set<std::string> records;
  for (const auto& run : results.runs)
    if (result::is_inference(run)) records.insert(run.id);
  const auto wanted = [&](const result::Observation& o) {
    return !(records.contains(o.run) && result::is_reading(o)) && has(o, recipe.required) &&
           (recipe.kernel.empty() || recipe.kernel == o.kernel) && of_quantity(recipe, o.metric) &&
           (choice.metrics.empty() || contains(choice.metrics, o.metric)) &&
           (choice.witnesses.empty() || contains(choice.witnesses, o.witness));
  };
  const result::Measure measure = [time](const result::Observation& o) {
    return time && o.metric == "seconds" ? result::ns_per_access(o) : result::per_access(o);
  };
  Selected s;
  s.x = recipe.kernel.empty() ? recipe.x : most_varied(results, recipe.kernel);
  s.curves = result::curves(results, s.x, wanted, measure);
  if (choice.metrics.empty()) {
    const auto metrics = default_metrics(recipe, s.curves);
    std::erase_if(s.curves, [&](const Curve& c) { return !contains(metrics, c.metric); });
  }
  std::map<std::pair<std::string, std::string>, std::string> missing;
  for (const auto& c : s.curves) {
    if (!c.counted()) missing.emplace(std::pair(c.witness, c.metric), c.reason);
  }
  std::erase_if(s.curves, [](const Curve& c) { return !c.counted(); });
  for (const auto& c : s.curves)
    missing.erase({c.witness, c.metric}); // partly counted: a gap in the curves shows it
  for (const auto& [who, reason] : missing)
    s.missing.push_back({who.second, who.first, reason});
  if (choice.witnesses.empty()) keep_preferred(s);
  return s;
}

bool drawable(const Selected& selected) {
  return std::any_of(selected.curves.begin(), selected.curves.end(), [](const Curve& c) {
    return std::count_if(c.points.begin(), c.points.end(), [](const auto& p) { return p.y.has_value(); }) >=
           2;
  });
}

std::string inventory(const result::Results& results) {
  std::map<std::string, std::set<std::string>> metrics;
  std::map<std::string, std::map<std::string, std::set<result::ParamValue>>> params;
  std::map<std::string, std::unordered_set<const void*>> points; // by kernel: seen already
  for (const auto& o : results.observations) {
    const bool counted = result::as_double(o.value).has_value();
    metrics[o.kernel].insert(o.metric + " by " + o.witness + (counted ? "" : " (not counted)"));
    if (!points[o.kernel].insert(o.params.identity()).second) continue;
    for (const auto& [name, setting] : o.params)
      params[o.kernel][name].insert(setting);
  }
  if (metrics.empty()) return "no observations";
  std::string text;
  for (const auto& [kernel, names] : metrics) {
    text += fmt::format("{}kernel {} with {}", text.empty() ? "" : "; ", kernel, fmt::join(names, ", "));
    for (const auto& [name, settings] : params[kernel])
      if (settings.size() > 1) text += fmt::format(", {}: {} values", name, settings.size());
  }
  return text;
}

} // namespace recount::plot
