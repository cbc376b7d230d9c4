#include "show/document/groups.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "model/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace recount::sweep {

std::optional<double> SweepGroup::per_access() const {
  if (!summary || !accesses || *accesses <= 0) return std::nullopt;
  return summary->value / static_cast<double>(*accesses);
}

std::vector<SweepGroup> sweep_groups(const result::Results& results) {
  std::map<std::tuple<result::Params, std::string, Witness>, SweepGroup> groups;
  // The observations of a point share its parameters (recount::Shared): they are compared once.
  std::unordered_map<const void*, std::map<std::pair<std::string, Witness>, SweepGroup*>> known;
  for (const auto& o : results.observations) {
    SweepGroup*& at = known[o.params.identity()][{o.metric, o.witness}];
    if (!at) {
      at = &groups[{o.params, o.metric, o.witness}];
      at->params = o.params;
      at->witness = o.witness;
      at->metric = o.metric;
      at->unit = o.unit;
    }
    SweepGroup& group = *at;
    if (o.accesses) group.accesses = o.accesses;
    if (!result::disturbances(o).empty()) ++group.flagged;
    group.error = std::max(group.error, result::sampling_error(o).value_or(0));
    if (o.running_ns < o.enabled_ns && group.difference.empty())
      group.difference = "possibly as perf counted part of the time and scaled, and PAPI counted all of it";
    for (const Flag& flag : o.flags)
      if (flag.kind == Flag::Kind::other_papi_value)
        group.difference = "PAPI evaluates the preset definition differently: " + flag.text;
    if (const auto value = result::as_double(o.value)) {
      group.values.push_back(*value);
      group.repetitions.push_back(o.repetition);
      if (o.cpu_seconds) group.cpu_seconds.push_back(*o.cpu_seconds);
    } else {
      ++group.missing;
      if (group.reason.empty()) group.reason = o.reason;
    }
  }
  std::vector<SweepGroup> all;
  for (auto& [key, group] : groups) {
    if (!group.values.empty()) group.summary = statistics::summarise(group.values, results.statistic);
    if (group.summary && group.witness.modelled()) {
      group.summary->low = group.summary->min - group.error;
      group.summary->high = group.summary->max + group.error;
    }
    all.push_back(std::move(group));
  }
  return all;
}

std::vector<SweepGroup> least(std::vector<SweepGroup> groups, std::size_t count,
                              const result::Params& first) {
  std::map<std::pair<std::string, std::string>, std::vector<SweepGroup>> kinds;
  for (auto& group : groups)
    if (group.summary) // sampled and exact points are compared
      kinds[{group.metric, model::without_modes(group.witness.name())}].push_back(std::move(group));
  std::vector<SweepGroup> all;
  for (auto& [kind, points] : kinds) {
    const auto at = std::ranges::find(points, first, &SweepGroup::params);
    const double reference = at == points.end() ? 0 : at->summary->value;
    for (SweepGroup& group : points)
      if (reference > 0) group.of_first = group.summary->value / reference;
    std::ranges::stable_sort(points, {}, [](const SweepGroup& group) { return group.summary->value; });
    points.resize(std::min(points.size(), count));
    all.insert(all.end(), std::make_move_iterator(points.begin()), std::make_move_iterator(points.end()));
  }
  return all;
}

std::vector<result::Params> undecided_points(const std::vector<SweepGroup>& groups) {
  constexpr double equal = 1.02;
  std::vector<result::Params> points;
  for (const std::string& name : varying(groups)) {
    std::map<result::Params, const SweepGroup*> before; // the last point of each line along `name`
    for (const SweepGroup& group : groups) {
      if (!is_seconds(group.metric) || group.witness != Witness::clock || !group.summary) continue;
      result::Params line = group.params;
      line.erase(name);
      const SweepGroup* const other = std::exchange(before[line], &group);
      if (!other) continue;
      const auto accesses = [](const SweepGroup& one) {
        return static_cast<double>(std::max<std::int64_t>(1, one.accesses.value_or(1)));
      };
      const double scale = accesses(group) / accesses(*other); // times per access are compared
      const statistics::Summary &a = *other->summary, &b = *group.summary;
      const auto [least, most] = std::minmax({a.value * scale, b.value});
      if (most > equal * least && a.low * scale <= b.high && b.low <= a.high * scale)
        points.insert(points.end(), {other->params, group.params});
    }
  }
  return points;
}

std::string outliers_text(const std::vector<SweepGroup>& groups) {
  constexpr std::size_t max_named = 3;
  std::size_t all = 0;
  std::vector<std::string> named;
  const auto names = varying(groups);
  for (const auto& group : groups)
    for (const std::size_t i : statistics::outliers(group.values)) {
      if (group.witness.modelled()) break;
      if (is_tsc_cycles(group.metric)) break; // of the same time as "seconds"
      if (++all > max_named) continue;
      result::Params point;
      for (const auto& name : names)
        if (const auto setting = group.params.find(name); setting != group.params.end())
          point.insert(*setting);
      named.push_back(fmt::format("{}{}{} by {}, repetition {}", result::describe(point),
                                  point.empty() ? "" : ", ", group.metric, group.witness,
                                  group.repetitions[i] + 1));
    }
  if (all == 0) return {};
  return fmt::format("{}, further than {} median absolute deviations from the median: {}{}. Disturbances "
                     "are the likely cause; repeat on a quiet machine.",
                     base::format_count(all, "outlier"), statistics::outlier_deviations,
                     fmt::join(named, "; "), all > max_named ? "; ..." : "");
}

namespace {

show::Datum summary_datum(const SweepGroup& group) {
  show::Datum datum{{}, group.metric};
  for (const auto& [name, value] : group.params)
    datum.keys.emplace_back(name, result::text(value));
  datum.unit = is_seconds(group.metric) ? "s" : group.unit;
  datum.witness = group.witness.name();
  datum.repetitions = group.values.size();
  datum.disturbed = group.flagged;
  if (!group.reason.empty()) datum.reason = group.reason->text();
  if (!group.summary) return datum;
  const statistics::Summary& s = *group.summary;
  datum.statistic = s.n > 1 ? statistics::name_of(s.statistic) : "value";
  datum.value = s.value;
  if (s.low < s.high || (s.n > 1 && s.statistic == statistics::Statistic::median)) {
    datum.low = s.low;
    datum.high = s.high;
  }
  return datum;
}

std::optional<double> divided(const std::optional<double>& value, double by) {
  return value ? std::optional(*value / by) : std::nullopt;
}

} // namespace

std::vector<show::Datum> sweep_data(const std::vector<SweepGroup>& groups) {
  std::vector<show::Datum> all;
  for (const SweepGroup& group : groups) {
    show::Datum datum = summary_datum(group);
    all.push_back(datum);
    if (group.per_access()) {
      const auto accesses = static_cast<double>(*group.accesses);
      show::Datum& each = all.emplace_back(datum);
      each.quantity += " per access";
      for (auto* number : {&each.value, &each.low, &each.high})
        *number = divided(*number, accesses);
    }
    if (group.of_first) {
      show::Datum& of_first = all.emplace_back(datum);
      of_first = datum.with(datum.statistic, group.of_first);
      of_first.quantity += " / that of the first point";
      of_first.unit.clear();
    }
    if (group.summary && !group.cpu_seconds.empty()) {
      const auto s = statistics::summarise(group.cpu_seconds, group.summary->statistic);
      show::Datum& cpu = all.emplace_back(datum);
      cpu.quantity = "cpu_seconds";
      cpu.value = s.value;
      cpu.low = datum.low ? std::optional(s.low) : std::nullopt;
      cpu.high = datum.high ? std::optional(s.high) : std::nullopt;
    }
  }
  return all;
}

std::vector<std::string> varying(const std::vector<SweepGroup>& groups) {
  std::vector<std::string> names;
  if (groups.empty()) return names;
  for (const auto& [name, value] : groups.front().params)
    for (const auto& group : groups) {
      const auto found = group.params.find(name);
      if (found != group.params.end() && found->second == value) continue;
      names.push_back(name);
      break;
    }
  return names;
}

} // namespace recount::sweep
