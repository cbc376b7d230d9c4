#include "result/curves.hpp"

#include "base/names.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace recount::result {
namespace {
using Key = std::tuple<std::string, std::string, std::string, std::string, result::Params>;

/// The repetitions at one x before they are summarised.
struct Gathered {
  std::vector<double> values;
  std::size_t flagged = 0;
  double least_running = 1.0;
};

struct Series {
  std::map<double, Gathered> points;
  std::string reason;
};

/// Takes the x parameter out of the params; nothing when it is absent or a word.
std::optional<double> take_x(result::Params& params, const std::string& x) {
  const auto number = integer(params, x);
  if (!number) return {};
  params.erase(x);
  return static_cast<double>(*number);
}

std::string machine_of(const result::Results& results, const std::string& run) {
  const auto* header = results.run(run);
  if (!header) return {};
  return header->cpu + " on " + header->host;
}

void add(Series& series, double x, const result::Observation& o, const Measure& measure) {
  Gathered& at = series.points[x];
  const auto measured = measure(o);
  if (!measured) {
    if (series.reason.empty()) series.reason = o.reason.empty() ? "no accesses recorded" : o.reason;
    return;
  }
  at.values.push_back(*measured);
  if (!disturbances(o).empty()) ++at.flagged;
  if (o.enabled_ns && o.running_ns && *o.enabled_ns > 0)
    at.least_running =
        std::min(at.least_running, static_cast<double>(*o.running_ns) / static_cast<double>(*o.enabled_ns));
}

/// The series of an observation and its x, looked up once for each point, witness and metric: the
/// observations of a point share it (result::Shared).
class SeriesIndex {
public:
  SeriesIndex(std::map<Key, Series>& all, const result::Results& results, const std::string& x)
      : all_(all), results_(results), x_(x) {}

  /// No series where x is absent or a word.
  std::pair<Series*, double> find(const result::Observation& o) {
    auto& points = by_name_[o.kernel][o.witness][o.metric];
    const auto [at, fresh] = points.try_emplace({o.run.identity(), o.params.identity()});
    if (fresh) {
      result::Params params = o.params;
      if (const auto value = take_x(params, x_))
        at->second = {&all_[{machine_of(results_, o.run), o.kernel, o.metric, o.witness, std::move(params)}],
                      *value};
    }
    return at->second;
  }

private:
  template <class Value>
  using ByName = std::map<std::string, Value>;

  std::map<Key, Series>& all_;
  const result::Results& results_;
  const std::string& x_;
  ByName<ByName<ByName<std::unordered_map<Identities, std::pair<Series*, double>, HashOfIdentities>>>>
      by_name_;
};

/// A failed run leaves a gap in the curves that it would have been part of.
void add_gaps(std::map<Key, Series>& all, const result::Results& results, const std::string& x) {
  for (const auto& failure : results.failures) {
    auto params = failure.params;
    const auto at = take_x(params, x);
    if (!at) continue;
    const auto machine = machine_of(results, failure.run);
    for (auto& [key, series] : all) {
      const auto& [on, kernel, metric, witness, rest] = key;
      if (on != machine || kernel != failure.kernel || witness != failure.witness || rest != params) continue;
      series.points[*at];
      if (series.reason.empty()) series.reason = failure.reason;
    }
  }
}

Curve finish(const Key& key, Series&& series, statistics::Statistic statistic) {
  Curve curve;
  std::tie(curve.machine, curve.kernel, curve.metric, curve.witness, curve.params) = key;
  curve.reason = std::move(series.reason);
  for (const auto& [x, gathered] : series.points) {
    Point point{x, {}, gathered.flagged, gathered.least_running};
    if (!gathered.values.empty()) point.y = statistics::summarise(gathered.values, statistic);
    if (point.y && is_modelled(curve.witness)) { // draws of placement: their range
      point.y->low = point.y->min;
      point.y->high = point.y->max;
    }
    curve.points.push_back(point);
  }
  return curve;
}
} // namespace

std::optional<double> value(const result::Observation& o) {
  return result::as_double(o.value);
}

std::optional<double> per_access(const result::Observation& o) {
  const auto number = result::as_double(o.value);
  if (!number || !o.accesses || *o.accesses <= 0) return {};
  return *number / static_cast<double>(*o.accesses);
}

std::optional<double> ns_per_access(const result::Observation& o) {
  const auto seconds = per_access(o);
  if (!seconds) return {};
  return *seconds * 1e9;
}

bool Curve::counted() const {
  return std::any_of(points.begin(), points.end(), [](const Point& p) { return p.y.has_value(); });
}

std::vector<Curve> curves(const result::Results& results, const std::string& x,
                          const std::function<bool(const result::Observation&)>& wanted,
                          const Measure& measure) {
  std::map<Key, Series> all;
  SeriesIndex index(all, results, x);
  for (const auto& o : results.observations) {
    if (!wanted(o)) continue;
    if (const auto [series, at] = index.find(o); series) add(*series, at, o, measure);
  }
  add_gaps(all, results, x);
  std::vector<Curve> made;
  for (auto& [key, series] : all)
    made.push_back(finish(key, std::move(series), results.statistic));
  return made;
}

namespace {
/// The number of different settings of these parameters.
std::size_t settings_of(const std::vector<Curve>& curves, const std::vector<std::string>& names) {
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
  std::map<std::string, std::set<result::ParamValue>> seen;
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
  for (const char* dependent : {"passes", "rounds", "digest"}) { // the last one follows the file of a nest
    std::vector<std::string> others = names;
    if (std::erase(others, dependent) > 0 && settings_of(curves, others) == settings_of(curves, names))
      names = std::move(others);
  }
  return names;
}

namespace {

/// Runs with a value that depends on the machine.
std::set<std::string> bound_runs(const Results& results) {
  std::set<std::string> bound;
  for (const Observation& o : results.observations)
    if (!described_machine(o.witness)) bound.insert(o.run);
  return bound;
}

/// The first run of the plan of each run; absent: itself.
std::map<std::string, std::string> first_of(const Results& results) {
  const auto bound = bound_runs(results);
  using PlanKey = std::tuple<std::map<std::string, std::string>, std::string, std::string>; // plan, machine
  std::map<PlanKey, std::string> of_shards;
  std::map<std::string, std::string> first;
  for (const Run& run : results.runs) {
    if (const auto earlier = first.find(run.resumes); earlier != first.end()) {
      first[run.id] = earlier->second;
      continue;
    }
    first[run.id] = run.id;
    auto plan = run.plan;
    if (plan.erase("shard") == 0) continue;
    const bool here = bound.contains(run.id);
    first[run.id] =
        of_shards.try_emplace({std::move(plan), here ? run.host : "", here ? run.cpu : ""}, run.id)
            .first->second;
  }
  return first;
}

} // namespace

void join_shards(Results& results) {
  const auto first = first_of(results);
  std::map<std::string, Shared<std::string>> ids; // a copy for all observations of a run
  for (const auto& [id, name] : first)
    ids.try_emplace(name, name);
  for (Observation& o : results.observations)
    if (const auto found = first.find(o.run); found != first.end() && found->second != o.run.get())
      o.run = ids.at(found->second);
  for (Failure& f : results.failures)
    if (const auto found = first.find(f.run); found != first.end()) f.run = found->second;
}

} // namespace recount::result
