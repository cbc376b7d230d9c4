#include "result/observation.hpp"
#include "sweep/engine.hpp"
#include "witness/witness.hpp"

#include <fmt/format.h>
#include <unordered_map>
#include <unordered_set>

namespace recount::sweep {
namespace {

std::string key(const std::string& kernel, const result::Params& point, int repetition,
                const std::string& witness) {
  return fmt::format("{}\n{}\n{}\n{}", kernel, result::params_json(point), repetition, witness);
}

} // namespace

std::vector<Job> remaining(const std::vector<Job>& jobs, const result::Results& there) {
  std::unordered_map<std::string, std::unordered_set<std::string>> metrics;
  std::unordered_set<std::string> failed;
  for (const auto& o : there.observations)
    metrics[key(o.kernel, o.params, o.repetition, o.witness)].insert(o.metric);
  for (const auto& f : there.failures)
    failed.insert(key(f.kernel, f.params, f.repetition, f.witness));

  // A run is there when all that it gives is there: each pass by each witness it speaks for.
  const auto there_is = [&](const Job& job, const std::string& metric) {
    const auto& witness = witness::find(job.witness);
    for (const auto& voice : witness.names(job.witness))
      for (int pass = 0; pass < witness.passes; ++pass) {
        const auto found =
            metrics.find(key(job.kernel, job.point, job.repetition * witness.passes + pass, voice));
        if (found == metrics.end() || !found->second.contains(metric)) return false;
      }
    return true;
  };
  std::vector<Job> left;
  for (const auto& job : jobs) {
    if (failed.contains(key(job.kernel, job.point, job.repetition, job.witness))) continue;
    Job rest = job;
    std::erase_if(rest.metrics, [&](const std::string& metric) { return there_is(job, metric); });
    if (!rest.metrics.empty()) left.push_back(std::move(rest));
  }
  return left;
}

} // namespace recount::sweep
