#include "commands/check/check.hpp"

#include "base/host/machine.hpp"
#include "base/host/pmu.hpp"
#include "base/names.hpp"
#include "base/nearest.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "count/papi/library.hpp"
#include "count/preset/preset_table.hpp"
#include "count/preset/standard.hpp"
#include "count/preset/written.hpp"
#include "model/machine.hpp"
#include "model/trace/request.hpp"
#include "run/result/observation.hpp"
#include "run/verdict/index.hpp"
#include "run/witness/metric_events.hpp"

#include <recount/error.hpp>
#include <recount/event.hpp>
#include <recount/papi.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <range/v3/view/concat.hpp>
#include <range/v3/view/filter.hpp>

#include <algorithm>
#include <random>
#include <ranges>
#include <set>
#include <tuple>

namespace recount::check {
namespace {

bool proven(const CheckContext& context, const std::string& metric) {
  return std::ranges::find(context.proofs, metric, &kernel::Proof::preset) != context.proofs.end();
}

const Subject* find_preset(const CheckContext& context, const std::string& name) {
  const auto found = std::ranges::find_if(context.presets, [&](const Subject& c) {
    return preset::same_word(c.name, name) || preset::same_word(c.name, "PAPI_" + name);
  });
  return found == context.presets.end() ? nullptr : &*found;
}

Subject event_subject(const std::string& name) {
  return {name, name, witness::resolve_metric(name).refused.text()};
}

/// The position of the `=` before METRIC; names of events have = in them, too.
std::size_t split_at(const CheckContext& context, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == text.npos) return text.npos;
  const std::string metric = text.substr(equals + 1);
  const bool meant = is_preset(metric) || metric.find("::") != metric.npos || proven(context, metric) ||
                     find_preset(context, text.substr(0, equals));
  return meant ? equals : text.npos;
}

Subject parse_subject(const CheckContext& context, const std::string& text) {
  const std::size_t equals = split_at(context, text);
  const std::string name = text.substr(0, equals);
  Subject subject;
  if (const Subject* const preset = find_preset(context, name)) {
    subject = *preset;
  } else if (is_preset(name)) {
    throw bad_input(name, "no such preset",
                    base::did_you_mean(name, context.presets | std::views::transform(&Subject::name),
                                       "list them with recount presets -a"));
  } else {
    static_cast<void>(encode_each(name)); // throws for a name that nobody knows
    subject = event_subject(name);
  }
  if (equals == text.npos) return subject;
  subject.reference = text.substr(equals + 1);
  if (proven(context, subject.reference)) return subject;
  throw bad_input(text, "no kernel has an expected count for " + subject.reference,
                  base::did_you_mean(subject.reference,
                                     context.proofs | std::views::transform(&kernel::Proof::preset),
                                     "see recount-kernels(7)"));
}

std::vector<Subject> all_subjects(const CheckContext& context) {
  std::vector<Subject> all = context.presets;
  for (const auto& proof : context.proofs)
    if (!is_preset(proof.preset) && std::ranges::find(all, proof.preset, &Subject::name) == all.end())
      all.push_back(event_subject(proof.preset));
  return all;
}

/// The proofs and the side proofs of a metric.
auto select_proofs(const CheckContext& context, const std::string& metric) {
  return ranges::views::concat(context.proofs, context.side_proofs) |
         ranges::views::filter([metric](const kernel::Proof& proof) { return proof.preset == metric; });
}

/// A kernel at a point, and what is counted there.
struct Place {
  const kernel::Kernel* kernel;
  result::Params point;
  std::vector<std::string> metrics;
  std::vector<std::string> simulated; ///< stated by the model alone
};

template <class T>
void insert(std::vector<T>& list, const T& value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

std::vector<Place> make_places(const CheckContext& context, const std::vector<Subject>& subjects) {
  std::vector<Place> places;
  const auto at = [&](const kernel::Kernel* kernel, const result::Params& point) -> Place& {
    const auto place =
        std::ranges::find_if(places, [&](const Place& p) { return p.kernel == kernel && p.point == point; });
    return place == places.end() ? places.emplace_back(Place{kernel, point, {}, {}}) : *place;
  };
  const auto count = [](Place& place, const Subject& s) {
    insert(place.metrics, s.name);
    for (const auto& [term, weight] : s.terms)
      insert(place.metrics, term);
  };
  for (const auto& proof : ranges::views::concat(context.proofs, context.side_proofs))
    for (const Subject& s : subjects) {
      if (s.reference != proof.preset || !s.reason.empty()) continue;
      Place& place = at(proof.kernel, proof.point);
      count(place, s);
      const auto known = proof.kernel->expected(proof.point);
      if (std::ranges::find(known, s.reference, &kernel::Expectation::metric) == known.end())
        insert(place.simulated, s.reference);
    }
  for (const auto& relation : context.relations)
    for (const Subject& s : subjects)
      if (s.reference == relation.preset && s.reason.empty()) {
        count(at(relation.kernel, relation.point), s);
        count(at(relation.base_kernel, relation.base_point), s);
      }
  return places;
}

/// Where all presets of a relation can be counted, they are, in one place: the one that has most of them
/// anyway.
void add_partners(std::vector<Place>& places, const CheckContext& context,
                  const std::vector<Subject>& subjects) {
  const auto counted = [&](const std::string& name) {
    return std::ranges::any_of(subjects, [&](const Subject& s) {
      return s.name == name && s.reference == name && s.reason.empty();
    });
  };
  for (const auto& identity : context.identities) {
    const auto members = identity.presets();
    if (!identity.applies_to(context.kind) || !std::ranges::all_of(members, counted)) continue;
    const auto has = [&](const Place& place) {
      return std::ranges::count_if(members, [&](const std::string& name) {
        return std::ranges::find(place.metrics, name) != place.metrics.end();
      });
    };
    const auto best = std::ranges::max_element(places, {}, has);
    if (best == places.end() || has(*best) == 0) continue;
    for (const auto& name : members)
      insert(best->metrics, name);
  }
}

std::vector<sweep::Job> make_jobs(const std::vector<Place>& places, const CheckOptions& options) {
  std::vector<sweep::Job> jobs;
  std::mt19937_64 random(options.seed);
  for (int repetition = 0; repetition < options.repeat; ++repetition) {
    const std::size_t from = jobs.size();
    for (const Place& place : places)
      jobs.push_back({place.kernel->name(), place.point, repetition, Witness::both, place.metrics});
    base::shuffle(std::span(jobs).subspan(from), random);
  }
  for (const Place& place : places)
    if (!place.simulated.empty())
      jobs.push_back({place.kernel->name(), place.point, 0, Witness::model, place.simulated});
  return jobs;
}

std::map<std::string, std::string> make_settings(const CheckPlan& plan, const CheckContext& context,
                                                 const CheckOptions& options) {
  std::vector<std::string> names;
  for (const Subject& s : plan.subjects)
    if (s.reason.empty()) names.push_back(s.reference == s.name ? s.name : s.name + "=" + s.reference);
  return {{"check", fmt::format("{}", fmt::join(names, " "))},
          {"--repeat", std::to_string(options.repeat)},
          {"--table", context.table}};
}

} // namespace

CheckPlan plan_check(const CheckContext& context, const CheckOptions& options) {
  const trace::Pause pause; // not measured, and long on an emulated machine
  CheckPlan plan;
  for (const auto& text : options.requested) {
    auto requested = parse_subject(context, text);
    const auto same = [&](const Subject& s) {
      return s.name == requested.name && s.reference == requested.reference;
    };
    if (std::ranges::none_of(plan.subjects, same)) plan.subjects.push_back(std::move(requested));
  }
  if (options.requested.empty()) plan.subjects = all_subjects(context);
  auto places = make_places(context, plan.subjects);
  add_partners(places, context, plan.subjects);
  plan.jobs = make_jobs(places, options);
  plan.settings = make_settings(plan, context, options);
  return plan;
}

namespace {

/// The factor of an event in a linear formula.
double term_weight(const witness::PresetFormula& formula, std::size_t event) {
  constexpr int many = 1'000'000; // of a whole number, six decimals
  const auto count = [&](const std::string& native) -> long long {
    return formula.event_index.at(native) == event ? many : 0;
  };
  return static_cast<double>(preset::evaluate(formula.written, count, formula.max_mhz).value) / many;
}

/// Why perf cannot count the preset, and its terms. A row without a value is no reason: PAPI may still count
/// it.
Subject preset_subject(const std::string& preset) {
  const witness::MetricEvents requested = witness::resolve_metric(preset);
  Subject subject{preset, preset, requested.definition_unusable ? std::string() : requested.refused.text()};
  if (!requested.refused.empty()) return subject;
  if (requested.events.size() == 1 && requested.preset &&
      requested.preset->papi_definition.type == Derived::none) {
    subject.event = requested.events.front().name;
    return subject;
  }
  for (std::size_t i = 0; i < requested.events.size(); ++i)
    subject.terms[requested.events[i].name] =
        requested.preset && requested.linear ? term_weight(*requested.preset, i) : 0;
  return subject;
}

void add_presets(CheckContext& context, const preset::MachinePresets& here) {
  for (const auto& standard : preset::standard_presets()) {
    const std::string name(standard.name);
    context.presets.push_back(here.find(name) ? preset_subject(name)
                                              : Subject{name, name, here.why_not(name)});
  }
  for (const Preset& other : here.view().loaded.presets)
    if (!preset::standard_preset(other.name)) context.presets.push_back(preset_subject(other.name));
  const std::string text = base::read_file(here.table().name()).value_or("");
  const auto lines = base::split(std::string_view(text), '\n');
  for (const Preset& preset : here.view().loaded.presets)
    if (const auto line = static_cast<std::size_t>(preset.place.line);
        line > 0 && line <= lines.size() && !context.rows.contains(preset.name))
      context.rows[preset.name] = {preset.place.line, std::string(base::trim(lines[line - 1]))};
  context.kind = here.view().kind;
  if (const auto* const core = preset::default_pmu()) context.joint = joint_relations(core->name);
  context.table = here.table().name();
}

/// A table that crashes PAPI, with the row at fault where it is known.
Error crash_error(const Error& crash) {
  const std::string& table = crash.problem().subject;
  const preset::MachinePresets here(witness::papi_table_version());
  for (const Preset& preset : here.view().loaded.presets)
    if (preset.half_read)
      return bad_input(
          fmt::format("{}:{}", table, preset.place.line),
          fmt::format("{}; {}: {}", crash.problem().cause, preset.name, here.why_not(preset.name)),
          "recount lint " + table);
  return bad_input(table, crash.problem().cause, "recount lint " + table);
}

/// Without a table, or on a CPU that libpfm4 does not know, there are no presets, but events.
void add_presets(CheckContext& context) {
  try {
    const preset::MachinePresets here(witness::papi_table_version());
    papi::require_harmless_tables();
    add_presets(context, here);
  } catch (const Error& error) {
    if (error.problem().code == ReasonCode::crash) throw crash_error(error);
    if (error.kind() == ErrorKind::bad_input) throw;
    const std::string why = error.problem().subject + ": " + error.problem().cause;
    for (const auto& standard : preset::standard_presets())
      context.presets.push_back({std::string(standard.name), std::string(standard.name), why});
  }
}

std::optional<model::MachineDescription> caches(std::vector<std::string>& notes) {
  try {
    return model::machine("host");
  } catch (const Error& error) {
    notes.push_back("Not checked, since it depends on cache sizes: " + error.problem().cause + ".");
    return {};
  }
}

} // namespace

CheckContext check_context() {
  CheckContext context;
  const auto pmus = host::pmus();
  if (std::ranges::none_of(pmus, &host::Pmu::core))
    context.notes.emplace_back(
        "This machine has no core PMU (see recount doctor): only software events are checked.");
  add_presets(context);
  const auto machine = caches(context.notes);
  const trace::Pause pause;
  context.proofs = kernel::proofs(machine);
  context.side_proofs = kernel::side_proofs(machine);
  context.relations = kernel::relations(machine);
  context.identities = preset::identities();
  return context;
}

namespace {

/// Names in relations, by metric.
using NamesInRelations = std::map<std::string, std::string>;

/// Presets as themselves; NAME=METRIC takes no part in the relations.
NamesInRelations names_of_presets(const std::vector<Subject>& subjects) {
  NamesInRelations names;
  for (const Subject& s : subjects)
    if (s.reference == s.name) names.emplace(s.name, s.name);
  return names;
}

/// Native events: terms of formulas, and presets that are one event.
NamesInRelations names_of_events(const std::vector<Subject>& subjects) {
  NamesInRelations names;
  for (const Subject& s : subjects) {
    if (!s.event.empty()) names.emplace(s.name, without_pmu(s.event));
    for (const auto& [term, weight] : s.terms)
      names.emplace(term, without_pmu(term));
  }
  return names;
}

/// Counts of each witness by kernel and point, for relations.
std::vector<Counted> counted(const Index& index, const NamesInRelations& names) {
  std::map<std::tuple<std::string, result::Params, Witness>, std::map<int, std::map<std::string, double>>>
      places;
  for (const auto& [key, series] : index.all()) {
    const auto& [kernel, point, metric, witness] = key;
    const auto name = names.find(metric);
    if (witness == Witness::model || name == names.end()) continue;
    for (const auto& [repetition, o] : series)
      if (const auto value = result::as_double(o->value))
        places[{kernel, point, witness}][repetition][name->second] = *value;
  }
  std::vector<Counted> all;
  for (const auto& [place, passes] : places) {
    const auto& [kernel, point, witness] = place;
    auto& one = all.emplace_back(Counted{kernel, point, witness, {}});
    int process = -1;
    for (const auto& [repetition, values] : passes) {
      if (process_number(repetition) != process) one.passes.emplace_back();
      process = process_number(repetition);
      one.passes.back().push_back(values);
    }
  }
  return all;
}

/// The terms of its formula, wherever an expected count of the preset is known.
std::vector<Term> count_terms(const Subject& subject, const CheckContext& context, const Index& index) {
  std::vector<Term> all;
  for (const auto& [name, weight] : subject.terms) {
    auto& term = all.emplace_back(Term{name, weight, {}, {}});
    for (const kernel::Proof& proof : select_proofs(context, subject.reference)) {
      const std::string& kernel = proof.kernel->name();
      const auto measured = measurement(index.of(kernel, proof.point, name, Witness::perf), "not run");
      if (const auto counted = statistics::estimate(measured.values))
        term.counts.push_back({kernel, proof.point, counted->median});
      else
        term.reason = measured.reason.text();
    }
  }
  return all;
}

/// What perf counted of a metric where another was tried, else its expected count.
std::optional<double> count_at(const Index& index, const Trial& trial, const std::string& metric) {
  std::vector<double> counts;
  for (const auto& [repetition, o] : index.of(trial.kernel, trial.point, metric, Witness::perf))
    if (const auto count = result::as_double(o->value)) counts.push_back(*count);
  if (!counts.empty()) return statistics::median(counts);
  const auto stated = statement(metric, kernel::find(trial.kernel), trial.point, index).stated;
  return stated && stated->below + stated->above == 0 ? std::optional(stated->value) : std::nullopt;
}

/// Whether the names of two presets have the same first or last word: PAPI_L1_DCM and PAPI_L2_DCM.
bool neighbours(const std::string& a, const std::string& b) {
  const auto first = [](const std::string& name) {
    return name.substr(0, name.find('_', preset_prefix.size()));
  };
  const auto last = [](const std::string& name) { return name.substr(name.rfind('_') + 1); };
  return first(a) == first(b) || last(a) == last(b);
}

/// Likely mistakes in the row of a preset that this check does not find: terms lost or doubled, other masks
/// of their events as far as they were counted, the rows of neighbours.
std::vector<std::string> find_passing_mistakes(const PresetVerdict& verdict, const Subject& subject,
                                               const CheckPlan& plan, const CheckContext& context,
                                               const Index& index) {
  std::vector<std::string> all = find_untested_terms(verdict);
  const auto exchange = [&](const std::string& from, const std::string& to, double weight,
                            const std::string& text) {
    const auto changed = [&](const Judged& j) -> std::optional<double> {
      const auto less = count_at(index, j.trial, from), more = count_at(index, j.trial, to);
      return less && more ? std::optional(j.judgement.perf->median + weight * (*more - *less)) : std::nullopt;
    };
    if (weight != 0 && passes(verdict, changed)) insert(all, text);
  };
  const auto events = names_of_events(plan.subjects);
  auto parts = subject.terms; // metrics
  if (!subject.event.empty()) parts.emplace(subject.name, 1);
  for (const auto& [part, weight] : parts)
    for (const auto& [metric, event] : events)
      if (const std::string& own = events.at(part); own != event)
        if (const auto mask = event.find(':');
            mask != event.npos && own.starts_with(event.substr(0, mask + 1)))
          exchange(part, metric, weight, event.substr(mask + 1) + " for " + own);
  const auto formula = [&](const std::string& preset) {
    const std::string& row = context.rows.at(preset).text;
    return row.substr(std::min(row.find(preset) + preset.size(), row.size()));
  };
  for (const auto& [preset, row] : context.rows)
    if (context.rows.contains(subject.name) && neighbours(preset, subject.name) &&
        formula(preset) != formula(subject.name))
      exchange(subject.name, preset, 1, "the row of " + preset);
  return all;
}

std::string why_untried(const Subject& subject) {
  if (!subject.reason.empty()) return subject.reason;
  for (const auto& one : kernel::unprovable())
    if (one.preset == subject.reference) return one.reason;
  if (is_preset(subject.reference)) return "no kernel triggers it here with a known count";
  return "no kernel has an expected count for it; compare it with a preset: recount check " + subject.name +
         "=PRESET";
}

Coverage coverage(const CheckContext& context, const std::vector<PresetVerdict>& verdicts) {
  Coverage c;
  std::set<std::string> proven;
  for (const auto& proof : context.proofs)
    if (preset::standard_preset(proof.preset)) proven.insert(proof.preset);
  c.standard = static_cast<int>(preset::standard_presets().size());
  c.provokable = c.standard - static_cast<int>(kernel::unprovable().size());
  c.proven = static_cast<int>(proven.size());
  c.counted = static_cast<int>(std::ranges::count_if(verdicts, [&](const auto& v) {
    return proven.contains(v.preset) && v.verdict != Verdict::not_counted;
  }));
  return c;
}

} // namespace

Checked conclude(const CheckPlan& plan, const CheckContext& context, const CheckOptions& options,
                 const result::Results& results) {
  const trace::Pause pause;
  const Index index(results);
  const auto with_tolerance = [&](kernel::Proof proof) {
    proof.tolerance = options.tolerance.value_or(proof.tolerance);
    return proof;
  };
  std::vector<Trial> trials;
  for (const Subject& subject : plan.subjects) {
    if (!subject.reason.empty()) continue;
    for (const auto& proof : context.proofs)
      if (proof.preset == subject.reference)
        trials.push_back(make_trial(subject.name, with_tolerance(proof), index));
    for (const auto& proof : context.side_proofs)
      if (proof.preset == subject.reference)
        trials.push_back(make_side_trial(subject.name, with_tolerance(proof), index));
    for (const auto& relation : context.relations)
      if (relation.preset == subject.reference) trials.push_back(make_trial(subject.name, relation, index));
  }
  for (Trial& trial : trials)
    trial.fixed_tolerance = options.tolerance.has_value();
  std::vector<Broken> broken;
  for (const auto& place : counted(index, names_of_presets(plan.subjects)))
    for (auto& one : check::broken(place, context.identities, context.kind))
      broken.push_back(std::move(one));

  auto judged = check::verdicts(trials, broken);
  Checked checked;
  for (const Subject& subject : plan.subjects) {
    const auto found = std::ranges::find(judged, subject.name, &PresetVerdict::preset);
    if (found == judged.end()) {
      auto& untried = checked.verdicts.emplace_back();
      untried.preset = subject.name;
      untried.why = why_untried(subject);
      continue;
    }
    found->terms = count_terms(subject, context, index);
    if (!sound(found->verdict))
      add_errata(*found, witness::resolve_metric(subject.name).events, host::this_cpu());
    doubt_untested_terms(*found);
    blame_terms(*found);
    if (sound(found->verdict))
      found->passing_mistakes = find_passing_mistakes(*found, subject, plan, context, index);
    checked.verdicts.push_back(*found);
  }
  checked.coverage = coverage(context, checked.verdicts);
  checked.joint = find_inconsistency(counted(index, names_of_events(plan.subjects)), context.joint);
  return checked;
}

} // namespace recount::check
