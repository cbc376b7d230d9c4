#include "run/result/curves.hpp"

#include "base/text.hpp"
#include "base/witness.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace recount::result {
namespace {
using Key = std::tuple<std::string, std::string, std::string, Witness, Params>; // as curves() orders

/// The repetitions at one x before they are summarised.
struct Gathered {
  std::vector<double> values;
  std::size_t flagged = 0;
  double min_running = 1.0;
};

struct Series {
  std::map<double, Gathered> points;
  std::string reason;
};

/// Takes the x parameter out of the params; nothing when it is absent or a word.
std::optional<double> take_x(Params& params, const std::string& x) {
  const auto number = integer(params, x);
  if (!number) return {};
  params.erase(x);
  return static_cast<double>(*number);
}

/// By the id of a run.
using Machines = std::unordered_map<std::string, std::string>;

void add(Series& series, double x, const Observation& o, const Measure& measure) {
  Gathered& at = series.points[x];
  const auto measured = measure(o);
  if (!measured) {
    if (series.reason.empty()) series.reason = o.reason.empty() ? "no accesses recorded" : o.reason->text();
    return;
  }
  at.values.push_back(*measured);
  if (!disturbances(o).empty()) ++at.flagged;
  if (o.enabled_ns && o.running_ns && *o.enabled_ns > 0)
    at.min_running =
        std::min(at.min_running, static_cast<double>(*o.running_ns) / static_cast<double>(*o.enabled_ns));
}

/// A failed run leaves a gap in the curves that it would have been part of.
void add_gaps(std::map<Key, Series>& all, const Results& results, const Machines& machines,
              const std::string& x) {
  for (const auto& failure : results.failures) {
    auto params = failure.params;
    const auto at = take_x(params, x);
    if (!at) continue;
    const auto machine = base::value_at(machines, failure.run);
    for (auto& [key, series] : all) {
      const auto& [on, kernel, metric, witness, rest] = key;
      if (on != machine || kernel != failure.kernel || witness != failure.witness || rest != params) continue;
      series.points[*at];
      if (series.reason.empty()) series.reason = failure.reason.text();
    }
  }
}

Curve finish(const Key& key, Series&& series, statistics::Statistic statistic) {
  Curve curve;
  std::tie(curve.machine, curve.kernel, curve.metric, curve.witness, curve.params) = key;
  curve.reason = std::move(series.reason);
  for (const auto& [x, gathered] : series.points) {
    Point point{x, {}, gathered.flagged, gathered.min_running};
    if (!gathered.values.empty()) point.y = statistics::summarise(gathered.values, statistic);
    if (point.y && curve.witness.modelled()) { // draws of placement: their range
      point.y->low = point.y->min;
      point.y->high = point.y->max;
    }
    curve.points.push_back(point);
  }
  return curve;
}
} // namespace

std::optional<double> value(const Observation& o) {
  return as_double(o.value);
}

std::optional<double> per_access(const Observation& o) {
  const auto number = as_double(o.value);
  if (!number || o.accesses.value_or(0) <= 0) return {};
  return *number / static_cast<double>(*o.accesses);
}

std::optional<double> ns_per_access(const Observation& o) {
  const auto seconds = per_access(o);
  return seconds ? std::optional(*seconds * 1e9) : std::nullopt;
}

bool Curve::counted() const {
  return std::ranges::any_of(points, [](const Point& p) { return p.y.has_value(); });
}

std::vector<Curve> curves(const Results& results, const std::string& x,
                          const std::function<bool(const Observation&)>& wanted, const Measure& measure) {
  std::map<Key, Series> all;
  Machines machines;
  for (const Run& run : results.runs)
    machines.try_emplace(run.id, run.cpu + " on " + run.host);
  for (const auto& o : results.observations) {
    if (!wanted(o)) continue;
    Params params = o.params;
    if (const auto at = take_x(params, x))
      add(all[{base::value_at(machines, o.run), o.kernel, o.metric, o.witness, std::move(params)}], *at, o,
          measure);
  }
  add_gaps(all, results, machines, x);
  std::vector<Curve> all_curves;
  for (auto& [key, series] : all)
    all_curves.push_back(finish(key, std::move(series), results.statistic));
  return all_curves;
}

namespace {
/// The number of different settings of these parameters.
std::size_t count_settings(const std::vector<Curve>& curves, const std::vector<std::string>& names) {
  std::set<Params> different;
  for (const Curve& curve : curves) {
    Params some;
    for (const auto& name : names)
      if (const auto found = curve.params.find(name); found != curve.params.end()) some.insert(*found);
    different.insert(std::move(some));
  }
  return different.size();
}
} // namespace

std::vector<std::string> varying(const std::vector<Curve>& curves) {
  std::map<std::string, std::set<ParamValue>> seen;
  std::map<std::string, std::size_t> present;
  for (const auto& curve : curves) {
    for (const auto& [name, setting] : curve.params) {
      seen[name].insert(setting);
      ++present[name];
    }
  }
  std::vector<std::string> names;
  for (const auto& [name, settings] : seen) {
    if (settings.size() > 1 || present[name] != curves.size()) names.push_back(name);
  }
  for (const char* dependent : {"passes", "rounds"}) {
    std::vector<std::string> others = names;
    if (std::erase(others, dependent) > 0 && count_settings(curves, others) == count_settings(curves, names))
      names = std::move(others);
  }
  return names;
}

} // namespace recount::result
