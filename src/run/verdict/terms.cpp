// The terms of a formula in its verdict: mistakes in them that explain a wrong count, or would have passed.
#include "run/verdict/joint.hpp"
#include "run/verdict/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace recount::check {

bool Term::dead() const {
  return !counts.empty() && std::ranges::all_of(counts, [](const Count& c) { return c.counted == 0; });
}

bool passes(const PresetVerdict& verdict, const CountAt& count) {
  std::vector<Trial> changed;
  for (const Judged& j : verdict.trials) {
    const bool judged_again = j.judgement.perf && !j.trial.relative;
    const auto value = judged_again ? count(j) : std::nullopt;
    if (!value && (judged_again ? must_count(j.trial) : !sound(j.judgement.verdict))) return false;
    if (!value) continue;
    Trial& trial = changed.emplace_back(j.trial);
    trial.perf.values = trial.papi.values = {{*value}};
    trial.differences = {{0}};
  }
  return !changed.empty() && sound(verdicts(changed, {}).front().verdict);
}

namespace {

/// Whether the row with `times` its term added passes: -1 is the row without it.
bool passes_with(const PresetVerdict& verdict, const Term& term, double times) {
  return term.weight != 0 && passes(verdict, [&](const Judged& j) -> std::optional<double> {
           for (const Term::Count& c : term.counts)
             if (c.kernel == j.trial.kernel && c.point == j.trial.point)
               return j.judgement.perf->median + times * term.weight * c.counted;
           return {};
         });
}

} // namespace

std::vector<std::string> find_untested_terms(const PresetVerdict& verdict) {
  std::vector<std::string> all;
  for (const Term& term : verdict.terms) {
    const bool lost = passes_with(verdict, term, -1), doubled = passes_with(verdict, term, 1);
    if (lost || doubled)
      all.push_back(without_pmu(term.name) + (!doubled ? " lost" : lost ? " lost or doubled" : " doubled"));
  }
  return all;
}

void doubt_untested_terms(PresetVerdict& verdict) {
  if (verdict.verdict == Verdict::not_counted || !sound(verdict.verdict)) return;
  std::vector<std::string> untested;
  for (const Term& term : verdict.terms)
    if (term.counts.empty() || passes_with(verdict, term, -1) || passes_with(verdict, term, -0.5) ||
        passes_with(verdict, term, 1))
      untested.push_back(term.name);
  if (untested.empty()) return;
  verdict.verdict = Verdict::plausible;
  verdict.why += fmt::format("; no kernel tests {}", fmt::join(untested, " and "));
}

void blame_terms(PresetVerdict& verdict) {
  if (verdict.verdict != Verdict::meaning_differs && verdict.verdict != Verdict::dead) return;
  std::vector<std::string> causes;
  constexpr std::pair<double, const char*> corrections[]{
      {-1, "without"}, {-0.5, "with half of"}, {-2, "with the other sign of"}};
  for (const Term& term : verdict.terms)
    for (const auto& [times, change] : corrections)
      if (passes_with(verdict, term, times))
        causes.push_back(fmt::format("{} the term {}, all counts are the expected ones", change, term.name));
  if (causes.empty()) {
    causes = std::move(verdict.trials.front().judgement.causes);
    for (const Term& term : verdict.terms) {
      const auto lacks = [&](const Judged& j) { // what the term would add
        return sound(j.judgement.verdict) ||
               (j.judgement.perf && j.trial.stated &&
                (j.judgement.perf->median < j.trial.stated->value) == (term.weight >= 0));
      };
      if (term.dead() && std::ranges::all_of(verdict.trials, lacks))
        causes.insert(causes.begin(), fmt::format("the term {} counts 0 in every kernel", term.name));
    }
  }
  verdict.trials.front().judgement.causes = std::move(causes);
}

} // namespace recount::check
