#include "base/names.hpp"
#include "base/nearest.hpp"
#include "base/random.hpp"
#include "check/check.hpp"
#include "preset/preset_table.hpp"
#include "preset/standard.hpp"
#include "result/observation.hpp"
#include "witness/metric_events.hpp"

#include <recount/error.hpp>
#include <recount/event.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <random>

namespace recount::check {
namespace {

bool proven(const CheckContext& context, const std::string& metric) {
  return std::ranges::any_of(context.proofs, [&](const auto& proof) { return proof.preset == metric; });
}

const Candidate* candidate(const CheckContext& context, const std::string& name) {
  const auto found = std::ranges::find_if(context.presets, [&](const Candidate& c) {
    return preset::same_word(c.name, name) || preset::same_word(c.name, "PAPI_" + name);
  });
  return found == context.presets.end() ? nullptr : &*found;
}

/// The metric after the last `=`, where it is one: names of events have = in them, too.
std::size_t split_at(const CheckContext& context, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == text.npos) return text.npos;
  const std::string metric = text.substr(equals + 1);
  const bool meant = is_preset(metric) || metric.find("::") != metric.npos || proven(context, metric) ||
                     candidate(context, text.substr(0, equals));
  return meant ? equals : text.npos;
}

Subject subject(const CheckContext& context, const std::string& text) {
  const std::size_t equals = split_at(context, text);
  const std::string name = text.substr(0, equals);
  Subject it{name, name, {}};
  if (const Candidate* const preset = candidate(context, name)) {
    it = {preset->name, preset->name, preset->reason, preset->terms};
  } else if (is_preset(name)) {
    std::vector<std::string> names;
    for (const auto& one : context.presets)
      names.push_back(one.name);
    throw bad_input(name, "no such preset",
                    base::did_you_mean(name, names, "list them with recount presets -a"));
  } else {
    static_cast<void>(encode_each(name)); // throws for a name that nobody knows
    it.reason = witness::resolve_metric(name).refused;
  }
  if (equals == text.npos) return it;
  it.as = text.substr(equals + 1);
  if (proven(context, it.as)) return it;
  std::vector<std::string> metrics;
  for (const auto& proof : context.proofs)
    metrics.push_back(proof.preset);
  throw bad_input(text, "no kernel has an expected count for " + it.as,
                  base::did_you_mean(it.as, metrics, "see recount-kernels(7)"));
}

std::vector<Subject> everything(const CheckContext& context) {
  std::vector<Subject> all;
  for (const auto& preset : context.presets)
    all.push_back({preset.name, preset.name, preset.reason, preset.terms});
  for (const auto& proof : context.proofs) {
    const auto known = [&](const Subject& s) { return s.name == proof.preset; };
    if (!is_preset(proof.preset) && std::ranges::none_of(all, known))
      all.push_back({proof.preset, proof.preset, witness::resolve_metric(proof.preset).refused});
  }
  return all;
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

std::vector<Place> places_of(const CheckContext& context, const std::vector<Subject>& subjects) {
  std::vector<Place> places;
  const auto at = [&](const kernel::Kernel* kernel, const result::Params& point) -> Place& {
    const auto place =
        std::ranges::find_if(places, [&](const Place& p) { return p.kernel == kernel && p.point == point; });
    return place == places.end() ? places.emplace_back(Place{kernel, point, {}, {}}) : *place;
  };
  const auto count = [](Place& place, const Subject& s) {
    insert(place.metrics, s.name);
    for (const std::string& term : s.terms)
      insert(place.metrics, term);
  };
  for (const auto* const list : {&context.proofs, &context.beside})
    for (const auto& proof : *list)
      for (const Subject& s : subjects) {
        if (s.as != proof.preset || !s.reason.empty()) continue;
        Place& place = at(proof.kernel, proof.point);
        count(place, s);
        const auto known = proof.kernel->expected(proof.point);
        if (std::ranges::find(known, s.as, &kernel::Expectation::metric) == known.end())
          insert(place.simulated, s.as);
      }
  for (const auto& relation : context.relations)
    for (const Subject& s : subjects)
      if (s.as == relation.preset && s.reason.empty()) {
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
    return std::ranges::any_of(
        subjects, [&](const Subject& s) { return s.name == name && s.as == name && s.reason.empty(); });
  };
  for (const auto& identity : context.identities) {
    auto members = identity.left;
    members.insert(members.end(), identity.right.begin(), identity.right.end());
    if (identity.kind != preset::CpuKind::any && identity.kind != context.kind) continue;
    if (!std::ranges::all_of(members, counted)) continue;
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

std::vector<sweep::Job> jobs_of(const std::vector<Place>& places, const CheckOptions& options) {
  std::vector<sweep::Job> jobs;
  std::mt19937_64 random(options.seed);
  for (int repetition = 0; repetition < options.repeat; ++repetition) {
    const std::size_t from = jobs.size();
    for (const Place& place : places)
      jobs.push_back({place.kernel->name(), place.point, repetition, "both", place.metrics});
    base::shuffle(std::span(jobs).subspan(from), random);
  }
  for (const Place& place : places)
    if (!place.simulated.empty())
      jobs.push_back({place.kernel->name(), place.point, 0, "model", place.simulated});
  return jobs;
}

std::map<std::string, std::string> settings_of(const CheckPlan& plan, const CheckContext& context,
                                               const CheckOptions& options) {
  std::vector<std::string> names;
  for (const Subject& s : plan.subjects)
    if (s.reason.empty()) names.push_back(s.as == s.name ? s.name : s.name + "=" + s.as);
  return {{"check", fmt::format("{}", fmt::join(names, " "))},
          {"--repeat", std::to_string(options.repeat)},
          {"--table", context.table}};
}

} // namespace

CheckPlan plan_check(const CheckContext& context, const CheckOptions& options) {
  CheckPlan plan;
  for (const auto& text : options.asked) {
    auto asked = subject(context, text);
    const auto same = [&](const Subject& s) { return s.name == asked.name && s.as == asked.as; };
    if (std::ranges::none_of(plan.subjects, same)) plan.subjects.push_back(std::move(asked));
  }
  if (options.asked.empty()) plan.subjects = everything(context);
  auto places = places_of(context, plan.subjects);
  add_partners(places, context, plan.subjects);
  plan.jobs = jobs_of(places, options);
  plan.settings = settings_of(plan, context, options);
  return plan;
}

} // namespace recount::check
