#include "base/names.hpp"
#include "check/check.hpp"
#include "check/index.hpp"
#include "host/machine.hpp"
#include "preset/standard.hpp"
#include "witness/metric_events.hpp"

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

/// The terms of its formula, wherever an expected count of the preset is known.
std::vector<Term> terms_of(const Subject& subject, const CheckContext& context, const Index& index) {
  std::vector<Term> all;
  for (const std::string& name : subject.terms) {
    auto& term = all.emplace_back();
    term.name = name;
    for (const auto* const list : {&context.proofs, &context.beside})
      for (const auto& proof : *list) {
        if (proof.preset != subject.as) continue;
        const auto measured =
            measurement(index.of(proof.kernel->name(), proof.point, name, "perf"), "not run");
        std::string unstated;
        if (const auto counted = statistics::estimate(measured.values))
          term.counts.push_back({proof.kernel->name(), proof.point, counted->median,
                                 stated_at(subject.as, *proof.kernel, proof.point, index, unstated)});
        else
          term.reason = measured.reason;
      }
  }
  return all;
}

/// What every place states, of all presets.
ExpectedCounts expected_counts(const CheckContext& context, const Index& index) {
  ExpectedCounts all;
  for (const auto* const list : {&context.proofs, &context.beside})
    for (const auto& proof : *list) {
      std::string unstated;
      auto& here = all[{proof.kernel->name(), proof.point}];
      if (const auto stated = stated_at(proof.preset, *proof.kernel, proof.point, index, unstated))
        here.emplace(proof.preset, *stated);
    }
  return all;
}

std::string why_untried(const Subject& subject, const CheckContext& context) {
  if (!subject.reason.empty()) return subject.reason;
  for (const auto& one : context.unprovable)
    if (one.preset == subject.as) return one.reason;
  const bool preset = is_preset(subject.as);
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
  c.apart = static_cast<int>(std::ranges::count_if(verdicts, [&](const auto& v) {
    return proven.contains(v.preset) && v.verdict == Verdict::agrees && v.could_also_be.empty();
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
  for (const Subject& subject : plan.subjects) {
    if (!subject.reason.empty()) continue;
    for (const auto& proof : context.beside)
      if (proof.preset == subject.as)
        trials.push_back(side_trial_of(subject.name, with(proof, options.tolerance), index));
    for (const auto& relation : context.relations)
      if (relation.preset == subject.as) trials.push_back(trial_of(subject.name, relation, index));
  }
  std::vector<Broken> broken;
  for (const auto& place : counted(index, plan.subjects))
    for (auto& one : check::broken(place, context.identities, context.kind))
      broken.push_back(std::move(one));

  auto judged = check::verdicts(trials, broken);
  const auto expected = expected_counts(context, index);
  Checked checked;
  for (const Subject& subject : plan.subjects) {
    const auto found = std::ranges::find(judged, subject.name, &PresetVerdict::preset);
    if (found == judged.end()) {
      auto& untried = checked.verdicts.emplace_back();
      untried.preset = subject.name;
      untried.why = why_untried(subject, context);
      continue;
    }
    found->terms = terms_of(subject, context, index);
    if (!sound(found->verdict))
      add_errata(*found, witness::resolve_metric(subject.name).events, host::this_machine().cpu);
    blame_terms(*found);
    if (found->verdict == Verdict::agrees || found->verdict == Verdict::plausible)
      found->could_also_be = substitutes(found->trials, expected);
    checked.verdicts.push_back(*found);
  }
  checked.coverage = coverage(context, checked.verdicts);
  return checked;
}

} // namespace recount::check
