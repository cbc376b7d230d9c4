#include "check/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

namespace recount::check {
namespace {

PresetVerdict& of_preset(std::vector<PresetVerdict>& all, const std::string& preset) {
  const auto found = std::ranges::find(all, preset, &PresetVerdict::preset);
  return found == all.end() ? all.emplace_back(PresetVerdict{preset, {}, {}, {}, {}}) : *found;
}

std::vector<std::string> presets_of(const preset::Identity& identity) {
  auto names = identity.left;
  names.insert(names.end(), identity.right.begin(), identity.right.end());
  return names;
}

/// The presets that a broken relation is attributed to.
std::vector<PresetVerdict*> responsible(std::vector<PresetVerdict>& all, const Broken& relation) {
  std::vector<PresetVerdict*> members, unproven, bad;
  for (const auto& name : presets_of(relation.identity)) {
    PresetVerdict& member = of_preset(all, name);
    if (std::ranges::find(members, &member) == members.end()) members.push_back(&member);
  }
  std::ranges::copy_if(members, std::back_inserter(bad), [](const auto* m) { return !sound(m->verdict); });
  std::ranges::copy_if(members, std::back_inserter(unproven),
                       [](const auto* m) { return m->verdict == Verdict::not_counted; });
  return !bad.empty() ? bad : !unproven.empty() ? unproven : members;
}

void apply(const Broken& relation, PresetVerdict& preset) {
  preset.broken.push_back(relation);
  if (preset.verdict >= Verdict::broken_invariant) return;
  preset.verdict = Verdict::broken_invariant;
  preset.why = describe(relation);
}

} // namespace

std::vector<PresetVerdict> verdicts(std::span<const Trial> trials, std::span<const Broken> relations) {
  std::vector<PresetVerdict> all;
  for (const Trial& trial : trials)
    of_preset(all, trial.preset).trials.push_back({trial, judge(trial)});
  for (PresetVerdict& preset : all) {
    std::ranges::stable_sort(preset.trials, std::greater{},
                             [](const Judged& j) { return j.judgement.verdict; });
    preset.verdict = preset.trials.front().judgement.verdict;
    preset.why = preset.trials.front().judgement.why;
  }
  // Presets that occur in relations only are added first, so that the pointers below stay valid.
  for (const Broken& relation : relations)
    for (const auto& name : presets_of(relation.identity))
      of_preset(all, name);
  std::vector<std::vector<PresetVerdict*>> whom;
  for (const Broken& relation : relations)
    whom.push_back(responsible(all, relation)); // before any relation has changed a verdict
  for (std::size_t i = 0; i < relations.size(); ++i)
    for (PresetVerdict* const preset : whom[i])
      apply(relations[i], *preset);
  std::erase_if(all, [](const auto& preset) { return preset.trials.empty() && preset.broken.empty(); });
  return all;
}

std::string describe(const Broken& relation) {
  return fmt::format("{} does not hold: {:.6g} against {:.6g} by {} in {}", relation.identity.text,
                     relation.left.median, relation.right.median, relation.witness, relation.kernel);
}

} // namespace recount::check
