#include "run/resume.hpp"

#include "run/witness/backend.hpp"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace recount::sweep {

std::vector<Job> remaining(const std::vector<Job>& jobs, const result::Results& recorded) {
  using Key = std::tuple<std::string, result::Params, int, Witness>;
  std::map<Key, std::set<std::string>> metrics;
  std::set<Key> failed;
  for (const auto& o : recorded.observations)
    metrics[{o.kernel, o.params, o.repetition, o.witness}].insert(o.metric);
  for (const auto& f : recorded.failures)
    failed.emplace(f.kernel, f.params, f.repetition, f.witness);

  // A metric of a job is complete when every pass of each witness has recorded it.
  const auto is_complete = [&](const Job& job, const std::string& metric) {
    const auto& backend = witness::find(job.witness);
    for (const auto& name : backend.recorded_witnesses(job.witness))
      for (int pass = 0; pass < backend.passes; ++pass) {
        const auto found =
            metrics.find({job.kernel, job.point, job.repetition * backend.passes + pass, name});
        if (found == metrics.end() || !found->second.contains(metric)) return false;
      }
    return true;
  };
  std::vector<Job> left;
  for (const auto& job : jobs) {
    if (failed.contains({job.kernel, job.point, job.repetition, job.witness})) continue;
    Job rest = job;
    std::erase_if(rest.metrics, [&](const std::string& metric) { return is_complete(job, metric); });
    if (!rest.metrics.empty()) left.push_back(std::move(rest));
  }
  return left;
}

} // namespace recount::sweep
