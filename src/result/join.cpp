#include "result/join.hpp"

#include <map>
#include <set>
#include <tuple>

namespace recount::result {
namespace {

/// Runs with a value that depends on the machine.
std::set<std::string> bound_runs(const Results& results) {
  std::set<std::string> bound;
  for (const Observation& o : results.observations)
    if (!o.witness.starts_with("model:")) bound.insert(o.run);
  return bound;
}

/// The first run of the plan of each run; absent: itself.
std::map<std::string, std::string> first_of(const Results& results) {
  const auto bound = bound_runs(results);
  using PlanKey = std::tuple<std::map<std::string, std::string>, std::string, std::string>; // plan, machine
  std::map<PlanKey, std::string> of_shards;
  std::map<std::string, std::string> first;
  for (const Run& run : results.runs) {
    if (const auto earlier = first.find(run.resumes); earlier != first.end()) {
      first[run.id] = earlier->second;
      continue;
    }
    first[run.id] = run.id;
    auto plan = run.plan;
    if (plan.erase("shard") == 0) continue;
    const bool here = bound.contains(run.id);
    first[run.id] =
        of_shards.try_emplace({std::move(plan), here ? run.host : "", here ? run.cpu : ""}, run.id)
            .first->second;
  }
  return first;
}

} // namespace

void join_shards(Results& results) {
  const auto first = first_of(results);
  std::map<std::string, Shared<std::string>> ids; // a copy for all observations of a run
  for (const auto& [id, name] : first)
    ids.try_emplace(name, name);
  for (Observation& o : results.observations)
    if (const auto found = first.find(o.run); found != first.end() && found->second != o.run.get())
      o.run = ids.at(found->second);
  for (Failure& f : results.failures)
    if (const auto found = first.find(f.run); found != first.end()) f.run = found->second;
}

} // namespace recount::result
