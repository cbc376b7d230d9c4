#include "check/check.hpp"
#include "check/index.hpp"
#include "preset/standard.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <tuple>

namespace recount::check {
namespace {

kernel::Proof with(kernel::Proof proof, std::optional<double> tolerance) {
  proof.tolerance = tolerance.value_or(proof.tolerance);
  return proof;
}

/// Counts of each witness by kernel and point, for the relations between presets.
std::vector<Counted> counted(const Index& index, const std::vector<Subject>& subjects) {
  std::set<std::string> themselves; // NAME=METRIC takes no part in the relations
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
  std::vector<Counted> all;
  for (const auto& [place, passes] : places) {
    const auto& [kernel, point, witness] = place;
    auto& one = all.emplace_back(Counted{kernel, point, witness, {}});
    int process = -1;
    for (const auto& [repetition, values] : passes) {
      if (process_of(repetition) != process) one.passes.emplace_back();
      process = process_of(repetition);
      one.passes.back().push_back(values);
    }
  }
  return all;
}

std::string why_untried(const Subject& subject, const CheckContext& context) {
  if (!subject.reason.empty()) return subject.reason;
  for (const auto& one : context.unprovable)
    if (one.preset == subject.as) return one.reason;
  const bool preset = subject.as.starts_with("PAPI_");
  return preset ? "no kernel triggers it here with a known count"
                : "no kernel has an expected count for it; compare it with a preset: recount check " +
                      subject.name + "=PRESET";
}

Coverage coverage(const CheckContext& context, const std::vector<PresetVerdict>& verdicts) {
  Coverage c;
  std::set<std::string> proven;
  for (const auto& proof : context.proofs)
    if (preset::standard_preset(proof.preset)) proven.insert(proof.preset);
  c.standard = static_cast<int>(preset::standard_presets().size());
  c.provokable = c.standard - static_cast<int>(context.unprovable.size());
  c.proven = static_cast<int>(proven.size());
  c.counted = static_cast<int>(std::ranges::count_if(verdicts, [&](const auto& v) {
    return proven.contains(v.preset) && v.verdict != Verdict::not_counted;
  }));
  return c;
}

} // namespace

Checked conclude(const CheckPlan& plan, const CheckContext& context, const CheckOptions& options,
                 const result::Results& results) {
  const Index index(results);
  std::vector<Trial> trials;
  for (const Subject& subject : plan.subjects)
    for (const auto& proof : context.proofs)
      if (proof.preset == subject.as && subject.reason.empty())
        trials.push_back(trial_of(subject.name, with(proof, options.tolerance), index));
  std::vector<Broken> broken;
  for (const auto& place : counted(index, plan.subjects))
    for (auto& one : check::broken(place, context.identities, context.kind))
      broken.push_back(std::move(one));

  const auto judged = check::verdicts(trials, broken);
  Checked checked;
  for (const Subject& subject : plan.subjects) {
    const auto found = std::ranges::find(judged, subject.name, &PresetVerdict::preset);
    if (found != judged.end())
      checked.verdicts.push_back(*found);
    else
      checked.verdicts.push_back({subject.name, Verdict::not_counted, why_untried(subject, context), {}, {}});
  }
  checked.coverage = coverage(context, checked.verdicts);
  return checked;
}

} // namespace recount::check
