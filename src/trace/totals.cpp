#include "trace/totals.hpp"

#include "model/metrics.hpp"

#include <algorithm>

namespace recount::trace {

Totals::Totals(const model::MachineDescription& machine, bool sampled) : caches(machine) {
  if (!sampled) return;
  sampling.emplace();
  sampling->estimates.assign(model::Sampling::samples, caches.counts());
  sampling->unsettled.assign(caches.vacancies().size(), 0);
}

bool Totals::add(const model::Hierarchy& process, const WindowSampler& sampler) {
  if (!sampling) {
    caches.add(process.counts(), model::Hierarchy(process.machine()).counts(), 1);
    return true;
  }
  const bool enough = sampler.finish(process, *sampling);
  too_few_windows = too_few_windows || !enough;
  return enough;
}

Totals::Values Totals::values() const {
  model::Hierarchy sum(caches);
  if (sampling) {
    const model::Counts none = model::Hierarchy(caches.machine()).counts();
    model::Counts mean = none;
    for (const model::Counts& estimate : sampling->estimates)
      model::add_scaled(mean, estimate, none, 1.0);
    model::Counts all = none;
    model::add_scaled(all, mean, none, 1 / double{model::Sampling::samples});
    sum.add(all, none, 1);
    sum.sampling = sampling;
  }
  return {model::metrics(sum), model::sampling_errors(sum)};
}

double Totals::percent() const {
  if (!sampling) return 100;
  return 100 * static_cast<double>(sampling->counted) /
         static_cast<double>(std::max<std::int64_t>(sampling->accesses, 1));
}

} // namespace recount::trace
