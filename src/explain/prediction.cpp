#include "explain/prediction.hpp"

#include "explain/loop_orders.hpp"
#include "model/metrics.hpp"
#include "model/nest_simulation.hpp"

#include <algorithm>

namespace recount::explain {

const model::MachineDescription& Predictor::first_level(const std::string& name) {
  const auto [at, added] = machines_.try_emplace(name);
  if (!added) return at->second;
  model::MachineDescription machine = model::machine(name);
  machine.levels.resize(1);
  machine.instructions.reset();
  machine.sampled = true;
  machine.sample_unit = model::SampledReplay::least_window;
  const auto page = machine.tlb ? machine.tlb->page : model::Placement{}.page;
  // A first level is indexed within pages: only where the matrices begin matters.
  machine.placement = model::Placement{.contiguous = true, .page = std::max(page, model::Placement{}.page)};
  return at->second = std::move(machine);
}

Predicted Predictor::l1_misses(const std::string& machine, const std::string& order, std::int64_t n,
                               std::int64_t block, std::size_t draws) {
  std::vector<Predicted>& all = cells_[{machine, order, n, block}];
  while (all.size() < draws) {
    model::MachineDescription described = first_level(machine);
    described.placement->draw = all.size();
    described.seed = all.size() + 1;
    model::Hierarchy caches(described);
    model::simulate_nest(product_nest(order, n, block, described.placement), caches);
    const auto count = static_cast<double>(model::metrics(caches).at("PAPI_L1_DCM"));
    const auto errors = model::sampling_errors(caches);
    const auto error = errors.find("PAPI_L1_DCM");
    const double half = error == errors.end() ? 0 : error->second;
    Predicted next = all.empty() ? Predicted{count, count - half, count + half} : all.back();
    next.low = std::min(next.low, count - half);
    next.high = std::max(next.high, count + half);
    all.push_back(next);
  }
  return all[draws - 1];
}

} // namespace recount::explain
