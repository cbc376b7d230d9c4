// The model: what the kernel's accesses must do in a described cache hierarchy. Nothing is measured.
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "witness/witness.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <recount/error.hpp>
#include <recount/nearest.hpp>

namespace recount::witness {
namespace {

bool gives(const std::string& metric) {
  return metric != "seconds" && metric != "tsc_cycles";
}

std::string missing(const std::vector<std::string>& metrics) {
  try {
    const auto names = model::metric_names(model::machine("host"));
    for (const auto& metric : metrics)
      if (std::find(names.begin(), names.end(), metric) != names.end()) return {};
    return "it has no metric of these names";
  } catch (const Error& error) {
    return error.problem().cause;
  }
}

std::string machine_of(const std::string& witness) {
  const std::size_t colon = witness.find(':');
  return colon == witness.npos ? "host" : witness.substr(colon + 1);
}

std::vector<result::Observation> observe(const kernel::Kernel& kernel, kernel::Instance*, const Task& task) {
  const auto machine = model::machine(machine_of(task.witness));
  model::Hierarchy caches(machine);
  kernel.simulate(task.point, caches); // the measured region is warm, so the modelled one is
  caches.reset_counters();
  const std::int64_t accesses = kernel.simulate(task.point, caches);
  const auto values = model::metrics(caches);
  std::vector<result::Observation> all;
  for (const auto& metric : task.metrics) {
    auto& o = all.emplace_back(blank(task, metric));
    o.accesses = accesses;
    if (const auto found = values.find(metric); found != values.end())
      o.value = found->second;
    else
      o.reason = fmt::format(
          "the model of {} has no such metric; {}", machine.name,
          did_you_mean(metric, model::metric_names(machine), "recount-machines(5) lists those it has"));
  }
  return all;
}

} // namespace

Witness model_witness() {
  return {"model", "cache simulation of this machine or a described one",
          false,   {"PAPI_L1_DCM", "PAPI_L2_DCM"},
          gives,   missing,
          observe};
}

} // namespace recount::witness
