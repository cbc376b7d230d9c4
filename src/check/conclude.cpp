#include "preset/standard.hpp"
#include "check/check.hpp"
#include "check/trial.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>

namespace recount::study {
namespace {

using analysis::Trial;

kernel::Proof with(kernel::Proof proof, std::optional<double> tolerance) {
  proof.tolerance = tolerance.value_or(proof.tolerance);
  return proof;
}

/// What each witness counted in each place, for the relations between presets.
std::vector<analysis::Counted> counted(const Index& index, const std::vector<Subject>& subjects) {
  std::set<std::string> themselves; // what stands for something else is no part of the relations
  for (const Subject& s : subjects)
    if (s.as == s.name) themselves.insert(s.name);

  std::map<std::tuple<std::string, result::Params, std::string>, std::map<int, std::map<std::string, double>>>
      places;
  for (const auto& [key, series] : index.all()) {
    const auto& [kernel, point, metric, witness] = key;
    if (witness == "model" || !themselves.contains(metric)) continue;
    for (const auto& [repetition, o] : series)
      if (const auto value = result::as_double(o->value))
        places[{kernel, point, witness}][repetition][metric] = *value;
  }
  std::vector<analysis::Counted> all;
  for (const auto& [place, passes] : places) {
    const auto& [kernel, point, witness] = place;
    auto& one = all.emplace_back(analysis::Counted{kernel, point, witness, {}});
    int process = -1;
    for (const auto& [repetition, values] : passes) {
      if (process_of(repetition) != process) one.passes.emplace_back();
      process = process_of(repetition);
      one.passes.back().push_back(values);
    }
  }
  return all;
}

std::string why_untried(const Subject& subject, const Ground& ground) {
  if (!subject.trouble.empty()) return subject.trouble;
  for (const auto& one : ground.unprovable)
    if (one.preset == subject.as) return one.reason;
  const bool preset = subject.as.starts_with("PAPI_");
  return preset ? "no kernel provokes it here to a known count"
                : "no kernel states what it must count; check " + subject.name +
                      "=PRESET holds it against the kernels of a preset";
}

Coverage coverage(const Ground& ground, const std::vector<analysis::PresetVerdict>& verdicts) {
  Coverage c;
  std::set<std::string> proven;
  for (const auto& proof : ground.proofs)
    if (preset::standard_preset(proof.preset)) proven.insert(proof.preset);
  c.standard = static_cast<int>(preset::standard_presets().size());
  c.provokable = c.standard - static_cast<int>(ground.unprovable.size());
  c.proven = static_cast<int>(proven.size());
  c.counted = static_cast<int>(std::ranges::count_if(verdicts, [&](const auto& v) {
    return proven.contains(v.preset) && v.verdict != analysis::Verdict::not_counted;
  }));
  return c;
}

} // namespace

Checked conclude(const CheckPlan& plan, const Ground& ground, const CheckOptions& options,
                 const result::Results& results) {
  const Index index(results);
  std::vector<Trial> trials;
  for (const Subject& subject : plan.subjects)
    for (const auto& proof : ground.proofs)
      if (proof.preset == subject.as && subject.trouble.empty())
        trials.push_back(trial_of(subject.name, with(proof, options.tolerance), index));
  std::vector<analysis::Broken> broken;
  for (const auto& place : counted(index, plan.subjects))
    for (auto& one : analysis::broken(place, ground.identities, ground.kind))
      broken.push_back(std::move(one));

  const auto judged = analysis::verdicts(trials, broken);
  Checked checked;
  for (const Subject& subject : plan.subjects) {
    const auto found = std::ranges::find(judged, subject.name, &analysis::PresetVerdict::preset);
    if (found != judged.end())
      checked.verdicts.push_back(*found);
    else
      checked.verdicts.push_back(
          {subject.name, analysis::Verdict::not_counted, why_untried(subject, ground), {}, {}});
  }
  checked.coverage = coverage(ground, checked.verdicts);
  return checked;
}

} // namespace recount::study
