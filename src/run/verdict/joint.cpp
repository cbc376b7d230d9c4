#include "run/verdict/joint.hpp"

#include "base/text.hpp"
#include "run/verdict/joint_data.hpp" // made from data/joint.txt by the build

#include <algorithm>
#include <set>

namespace recount::check {
namespace {

bool names_event(const preset::Identity& relation, const std::string& event) {
  return std::ranges::find(relation.left, event) != relation.left.end() ||
         std::ranges::find(relation.right, event) != relation.right.end();
}

bool covers(const std::set<std::string>& events, const Broken& broken) {
  return std::ranges::any_of(events, [&](const auto& event) { return names_event(broken.identity, event); });
}

/// All events of the broken relations.
std::vector<std::string> candidates(const std::vector<Broken>& broken) {
  std::set<std::string> all;
  for (const Broken& one : broken)
    for (const auto& event : one.identity.presets())
      all.insert(event);
  return {all.begin(), all.end()};
}

/// The event in most broken relations, again and again, until none remains.
std::vector<std::string> cover_together(const std::vector<Broken>& broken,
                                        const std::vector<std::string>& events) {
  std::set<std::string> chosen;
  const auto left = [&](const std::string& event) {
    return std::ranges::count_if(
        broken, [&](const Broken& one) { return !covers(chosen, one) && names_event(one.identity, event); });
  };
  while (!std::ranges::all_of(broken, [&](const Broken& one) { return covers(chosen, one); }))
    chosen.insert(*std::ranges::max_element(events, {}, left));
  return {chosen.begin(), chosen.end()};
}

/// Whether all events of a sum were counted here, and the event counts something of it.
bool confirms(const Counted& place, const preset::Identity& relation, const std::string& event) {
  if (relation.at_most || place.passes.empty() || place.passes.front().empty()) return false;
  const auto& counts = place.passes.front().front();
  const auto names = relation.presets();
  return std::ranges::all_of(names, [&](const auto& name) { return counts.contains(name); }) &&
         counts.at(event) > stray_occurrences;
}

} // namespace

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
                                 std::span<const preset::Identity> relations) {
  Inconsistency found;
  const auto is_broken = [&](const preset::Identity& relation) {
    return std::ranges::any_of(found.broken,
                               [&](const Broken& one) { return one.identity.text == relation.text; });
  };
  for (const Counted& place : counted)
    for (Broken& one : broken(place, relations, preset::CpuKind::any))
      if (!is_broken(one.identity)) found.broken.push_back(std::move(one));
  const auto events = candidates(found.broken);
  for (const std::string& event : events)
    if (std::ranges::all_of(found.broken,
                            [&](const Broken& one) { return names_event(one.identity, event); }))
      found.suspects.push_back(event);
  if (found.suspects.empty()) {
    found.together = cover_together(found.broken, events);
    return found;
  }
  const auto vindicated = [&](const std::string& event) {
    return std::ranges::any_of(relations, [&](const preset::Identity& relation) {
      return names_event(relation, event) && !is_broken(relation) &&
             std::ranges::any_of(counted,
                                 [&](const Counted& place) { return confirms(place, relation, event); });
    });
  };
  if (!std::ranges::all_of(found.suspects, vindicated)) std::erase_if(found.suspects, vindicated);
  return found;
}

std::string without_pmu(const std::string& event) {
  const auto colons = event.find("::");
  return colons == event.npos ? event : event.substr(colons + 2);
}

} // namespace recount::check
