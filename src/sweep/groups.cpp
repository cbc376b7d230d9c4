#include "sweep/groups.hpp"

#include <map>
#include <tuple>

namespace recount::sweep {

std::optional<double> SweepGroup::per_access() const {
  if (!summary || !accesses || *accesses <= 0) return std::nullopt;
  return summary->value / static_cast<double>(*accesses);
}

std::vector<SweepGroup> sweep_groups(const result::Results& results) {
  std::map<std::tuple<result::Params, std::string, std::string>, SweepGroup> groups;
  for (const auto& o : results.observations) {
    auto& group = groups[{o.params, o.metric, o.witness}];
    group.params = o.params;
    group.witness = o.witness;
    group.metric = o.metric;
    if (o.accesses) group.accesses = o.accesses;
    if (!result::disturbances(o).empty()) ++group.flagged;
    if (const auto value = result::as_double(o.value)) {
      group.values.push_back(*value);
    } else {
      ++group.missing;
      if (group.reason.empty()) group.reason = o.reason;
    }
  }
  std::vector<SweepGroup> all;
  for (auto& [key, group] : groups) {
    if (!group.values.empty()) group.summary = statistics::summarise(group.values, results.statistic);
    all.push_back(std::move(group));
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
