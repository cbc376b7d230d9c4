#include "run/verdict/joint.hpp"

#include "base/text.hpp"
#include "run/verdict/joint_data.hpp" // made from data/joint.txt by the build
#include "run/verdict/relations.hpp"

#include <algorithm>
#include <set>

namespace recount::check {

preset::Identity parse_event_relation(std::string_view text, std::string_view why) {
  preset::Identity relation;
  relation.text = std::string(text);
  relation.why = std::string(why);
  auto* side = &relation.left;
  for (const std::string& word : base::words(text))
    if (word == "=" || word == "<=") {
      side = &relation.right;
      relation.at_most = word == "<=";
    } else if (word != "+") {
      side->push_back(word);
    }
  return relation;
}

std::vector<preset::Identity> parse_joint_relations(std::string_view text, const std::string& pmu) {
  std::vector<preset::Identity> all;
  for (const auto& [where, cells] : base::data_rows(text, "joint.txt")) {
    const auto pmus = base::words(cells.at(0));
    if (pmus.front() == "any" || std::ranges::find(pmus, pmu) != pmus.end())
      all.push_back(parse_event_relation(cells.at(1), cells.at(2)));
  }
  return all;
}

std::vector<preset::Identity> joint_relations(const std::string& pmu) {
  return parse_joint_relations(joint_data, pmu);
}

Inconsistency find_inconsistency(std::span<const Counted> counted,
                                 std::span<const preset::Identity> identities) {
  Relations relations;
  for (const preset::Identity& identity : identities)
    relations.all.push_back({identity});
  Inconsistency found;
  std::optional<std::set<std::string>> common; // what alone explains each place
  std::set<std::string> together;
  for (const Counted& place : counted) {
    const CountedPlace here{place};
    const PlaceFindings findings = test_place(here, relations);
    for (const auto& [relation, tested] : findings.broken)
      if (std::ranges::none_of(
              found.broken, [&](const Broken& one) { return one.identity.text == relation->identity.text; }))
        found.broken.push_back(tested);
    if (findings.broken.empty()) continue;
    std::set<std::string> alone;
    for (const auto& culprits : findings.alternatives)
      if (culprits.size() == 1) alone.insert(*culprits.front().metrics.begin());
    if (common) std::erase_if(alone, [&](const auto& event) { return !common->contains(event); });
    common = alone;
    if (!findings.alternatives.empty())
      for (const Culprit& one : findings.alternatives.front())
        together.insert(one.metrics.begin(), one.metrics.end());
  }
  if (common) found.suspects.assign(common->begin(), common->end());
  if (found.suspects.empty()) found.together.assign(together.begin(), together.end());
  return found;
}

std::string without_pmu(const std::string& event) {
  const auto colons = event.find("::");
  return colons == event.npos ? event : event.substr(colons + 2);
}

} // namespace recount::check
