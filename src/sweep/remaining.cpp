#include "result/line.hpp"
#include "sweep/engine.hpp"

#include <fmt/format.h>
#include <unordered_map>
#include <unordered_set>

namespace recount::sweep {
namespace {

std::string key(const result::Params& point, int repetition, const std::string& witness) {
  return fmt::format("{}\n{}\n{}", result::params_json(point), repetition, witness);
}

} // namespace

std::vector<Job> remaining(const std::vector<Job>& jobs, const result::Results& there) {
  std::unordered_map<std::string, std::unordered_set<std::string>> metrics;
  std::unordered_set<std::string> failed;
  for (const auto& o : there.observations)
    metrics[key(o.params, o.repetition, o.witness)].insert(o.metric);
  for (const auto& f : there.failures)
    failed.insert(key(f.params, f.repetition, f.witness));

  std::vector<Job> left;
  for (const auto& job : jobs) {
    const std::string id = key(job.point, job.repetition, job.witness);
    if (failed.contains(id)) continue;
    Job rest = job;
    if (const auto found = metrics.find(id); found != metrics.end())
      std::erase_if(rest.metrics, [&](const std::string& metric) { return found->second.contains(metric); });
    if (!rest.metrics.empty()) left.push_back(std::move(rest));
  }
  return left;
}

} // namespace recount::sweep
