#include "result/completeness.hpp"

#include "base/format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace recount::result {
namespace {

/// The run that begins the plan of each run. Shards of one plan (sweep/sweep_plan.hpp) belong together, where
/// `machine` is the same for them.
std::map<std::string, std::string> first_runs(const Results& results,
                                              const std::function<std::string(const Run&)>& machine) {
  std::map<std::string, std::string> first;
  std::map<std::pair<std::map<std::string, std::string>, std::string>, std::string> of_shards;
  for (const Run& run : results.runs) {
    const auto earlier = first.find(run.resumes);
    first[run.id] = earlier == first.end() ? run.id : earlier->second;
    auto plan = run.plan;
    if (plan.erase("shard") > 0)
      first[run.id] = of_shards.try_emplace({std::move(plan), machine(run)}, first[run.id]).first->second;
  }
  return first;
}

/// The repetitions of each planned name, by first run. A run that resumes only some shards' file states the
/// names of those again.
std::map<std::string, std::map<std::string, std::int64_t>>
plans_of(const Results& results, const std::map<std::string, std::string>& first) {
  std::map<std::string, std::map<std::string, std::int64_t>> plans;
  for (const Run& run : results.runs) {
    if (run.runs_planned == 0) continue;
    for (const auto& [name, repetitions] : run.planned) {
      std::int64_t& most = plans[first.at(run.id)][name];
      most = std::max(most, repetitions);
    }
  }
  return plans;
}

} // namespace

std::string planned_name(const Witness& witness, const std::string& kernel, const Params& params) {
  return fmt::format("{} {} {}", witness, kernel, describe(params));
}

std::vector<Incomplete> incomplete(const Results& results) {
  const auto first = first_runs(results, [](const Run&) { return ""; });
  const auto plans = plans_of(results, first);
  if (plans.empty()) return {};
  using Done = std::set<std::pair<std::string, int>>; // names with repetitions
  std::map<std::string, Done> done;
  const auto take = [&](const std::string& run, const auto& line) {
    const auto at = first.find(run);
    if (at == first.end() || !plans.contains(at->second)) return;
    done[at->second].emplace(planned_name(line.witness, line.kernel, line.params), line.repetition);
  };
  for (const Observation& o : results.observations)
    take(o.run, o);
  for (const Failure& f : results.failures)
    take(f.run, f);
  std::vector<Incomplete> all;
  for (const auto& [id, planned] : plans) {
    Incomplete study;
    std::map<std::string, std::int64_t> done_repetitions;
    for (const auto& [name, repetition] : done[id])
      ++done_repetitions[name];
    for (const auto& [name, repetitions] : planned) {
      study.planned += static_cast<std::size_t>(repetitions);
      const std::int64_t have = std::min(done_repetitions[name], repetitions);
      study.done += static_cast<std::size_t>(have);
      if (have < repetitions)
        study.missing.push_back(fmt::format("{} ({} of {})", name, repetitions - have, repetitions));
    }
    if (!study.missing.empty()) all.push_back(std::move(study));
  }
  return all;
}

std::string describe(const Incomplete& study) {
  constexpr std::size_t most = 8;
  const std::size_t named = std::min(most, study.missing.size());
  std::string text = fmt::format(
      "Incomplete: {} of {}; missing: {}", study.done, base::format_count(study.planned, "run"),
      fmt::join(study.missing.begin(), study.missing.begin() + static_cast<std::ptrdiff_t>(named), "; "));
  if (study.missing.size() > named) text += fmt::format("; and {} more", study.missing.size() - named);
  return text + ". What was not run allows no conclusion.";
}

void join_shards(Results& results) {
  std::set<std::string> measured; // runs with a value that depends on the machine
  for (const Observation& o : results.observations)
    if (!o.witness.described_machine()) measured.insert(o.run);
  const auto first = first_runs(results, [&](const Run& run) {
    return measured.contains(run.id) ? run.host + "\n" + run.cpu : std::string();
  });
  std::map<std::string, Shared<std::string>> ids; // a copy for all observations of a run
  for (const auto& [id, name] : first)
    ids.try_emplace(name, name);
  for (Observation& o : results.observations)
    if (const auto found = first.find(o.run); found != first.end()) o.run = ids.at(found->second);
  for (Failure& f : results.failures)
    if (const auto found = first.find(f.run); found != first.end()) f.run = found->second;
}

} // namespace recount::result
