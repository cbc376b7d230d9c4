#include "check/verdict.hpp"

#include "errata/errata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

namespace recount::check {
namespace {

PresetVerdict& of_preset(std::vector<PresetVerdict>& all, const std::string& preset) {
  const auto found = std::ranges::find(all, preset, &PresetVerdict::preset);
  if (found != all.end()) return *found;
  all.emplace_back().preset = preset;
  return all.back();
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

std::string place_of(const Trial& trial) {
  return trial.point.empty() ? trial.kernel : trial.kernel + " " + result::describe(trial.point);
}

bool must_count(const Trial& trial) {
  return trial.stated && trial.stated->value - trial.stated->below > 0;
}

bool counts(const Judgement& j) {
  const auto& counted = j.perf ? j.perf : j.papi;
  return counted && counted->median != 0;
}

/// Dead in some places only: a part of what it should count is missing.
void find_missing_part(PresetVerdict& preset) {
  if (preset.verdict != Verdict::dead) return;
  const auto live = std::ranges::find_if(
      preset.trials, [](const Judged& j) { return must_count(j.trial) && counts(j.judgement); });
  if (live == preset.trials.end()) return;
  const bool right = sound(live->judgement.verdict);
  const auto& dead = preset.trials.front();
  preset.why = fmt::format("misses a part: 0 in {}, {} in {}", place_of(dead.trial),
                           right ? "right" : "not 0", place_of(live->trial));
  preset.verdict = Verdict::meaning_differs;
  for (Judged& j : preset.trials)
    if (j.judgement.verdict == Verdict::dead) j.judgement.verdict = Verdict::meaning_differs;
}

/// What agrees by bounds only.
void limit_confidence(PresetVerdict& preset) {
  if (preset.verdict != Verdict::agrees) return;
  const auto agreed = [](const Judged& j) { return j.judgement.verdict == Verdict::agrees; };
  if (std::ranges::any_of(preset.trials, [&](const Judged& j) { return agreed(j) && tight(j.trial); }))
    return;
  if (std::ranges::all_of(preset.trials,
                          [&](const Judged& j) { return !agreed(j) || accepted(j.trial)->high <= 0; }))
    return; // nothing but zeros is expected of it
  preset.verdict = Verdict::plausible;
  const bool must =
      std::ranges::any_of(preset.trials, [&](const Judged& j) { return agreed(j) && must_count(j.trial); });
  preset.why += must ? "; no kernel excludes twice or half the count"
                     : "; counted only where the expected count is about 0";
}

} // namespace

bool Term::dead() const {
  return !counts.empty() && std::ranges::all_of(counts, [](const Count& c) { return c.counted == 0; });
}

bool Term::constant() const {
  constexpr std::size_t enough = 3;
  return counts.size() >= enough && counts.front().counted != 0 &&
         std::ranges::all_of(counts, [&](const Count& c) { return c.counted == counts.front().counted; });
}

const Term::Count* Term::only_elsewhere() const {
  constexpr double stray = 64;
  const Count* most = nullptr;
  for (const Count& c : counts) {
    if (std::abs(c.counted) <= stray) continue;
    if (!c.of_preset || c.of_preset->value > 0) return nullptr;
    if (!most || c.counted > most->counted) most = &c;
  }
  return most;
}

std::vector<std::string> substitutes(std::span<const Judged> trials, const ExpectedCounts& expected) {
  std::vector<std::string> all;
  std::map<std::string, std::map<double, std::pair<bool, bool>>>
      fits; ///< by preset, factor: never out, counts
  if (trials.empty()) return all;
  const std::string& self = trials.front().trial.metric;
  for (const Judged& j : trials) {
    const auto within = accepted(j.trial);
    if (!within || j.trial.relative || j.judgement.verdict != Verdict::agrees) continue;
    const auto here = expected.find({j.trial.kernel, j.trial.point});
    if (here == expected.end()) continue;
    for (const auto& [preset, stated] : here->second)
      for (const double factor : {1.0, 2.0, 4.0, 8.0, 0.5, 0.25, 0.125}) {
        if (preset == self && factor == 1) continue;
        auto& [out, counted] = fits[preset][factor];
        out = out || factor * (stated.value + stated.above) < within->low ||
              factor * (stated.value - stated.below) > within->high;
        counted = counted || (must_count(j.trial) && stated.value > 0);
      }
  }
  for (const auto& [preset, factors] : fits)
    for (const auto& [factor, how] : factors)
      if (!how.first && how.second)
        all.push_back(factor == 1 ? preset : fmt::format("{:g} * {}", factor, preset));
  return all;
}

void add_errata(PresetVerdict& verdict, std::span<const Event> events, const host::Cpu& cpu) {
  if (sound(verdict.verdict)) return;
  for (const Event& event : events)
    for (const auto* const erratum : errata::of_event(event, cpu))
      if (std::string text = event.name + ": " + erratum->sentence();
          std::ranges::find(verdict.errata, text) == verdict.errata.end())
        verdict.errata.push_back(std::move(text));
}

void blame_terms(PresetVerdict& verdict) {
  if (verdict.trials.empty() || sound(verdict.verdict)) return;
  auto& causes = verdict.trials.front().judgement.causes;
  std::vector<std::string> found;
  for (const Term& term : verdict.terms) {
    if (term.dead())
      found.push_back(fmt::format("the term {} counts 0 in every kernel", term.name));
    else if (term.constant())
      found.push_back(
          fmt::format("the term {} counts {:.6g} in every kernel", term.name, term.counts.front().counted));
    else if (const auto* const most = term.only_elsewhere())
      found.push_back(fmt::format("the term {} counts only where the expected count is 0 ({:.6g} in {})",
                                  term.name, most->counted,
                                  most->kernel + " " + result::describe(most->point)));
  }
  causes.insert(causes.begin(), found.begin(), found.end());
}

std::vector<PresetVerdict> verdicts(std::span<const Trial> trials, std::span<const Broken> relations) {
  std::vector<PresetVerdict> all;
  for (const Trial& trial : trials)
    of_preset(all, trial.preset).trials.push_back({trial, judge(trial)});
  for (PresetVerdict& preset : all) {
    std::ranges::stable_sort(preset.trials, std::greater{},
                             [](const Judged& j) { return j.judgement.verdict; });
    preset.verdict = preset.trials.front().judgement.verdict;
    preset.why = preset.trials.front().judgement.why;
    find_missing_part(preset);
    limit_confidence(preset);
  }
  // Presets that occur in relations only are added first, so that the pointers below stay valid.
  for (const Broken& relation : relations)
    for (const auto& name : presets_of(relation.identity))
      of_preset(all, name);
  std::vector<std::vector<PresetVerdict*>> target;
  for (const Broken& relation : relations)
    target.push_back(responsible(all, relation)); // before any relation has changed a verdict
  for (std::size_t i = 0; i < relations.size(); ++i)
    for (PresetVerdict* const preset : target[i])
      apply(relations[i], *preset);
  std::erase_if(all, [](const auto& preset) { return preset.trials.empty() && preset.broken.empty(); });
  return all;
}

std::string describe(const Broken& relation) {
  return fmt::format("{} does not hold: {:.6g} against {:.6g} by {} in {}", relation.identity.text,
                     relation.left.median, relation.right.median, relation.witness, relation.kernel);
}

} // namespace recount::check
