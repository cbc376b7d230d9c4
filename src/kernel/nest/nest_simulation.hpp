// A kernel that is a loop nest, simulated.
#pragma once

#include "model/accelerated/accelerate.hpp"

namespace recount::kernel {

/// Sectors are simulated access by access.
[[nodiscard]] inline model::Acceleration acceleration(const model::MachineDescription& machine) {
  model::Acceleration how;
  how.setwise = !model::sectored(machine);
  return how;
}

/// Kernel::simulate() of a nest.
inline void simulate_nest(const model::Nest& nest, model::Hierarchy& caches) {
  model::NestSimulation(nest, caches.machine(), acceleration(caches.machine())).run(caches);
}

/// Kernel::simulate_warm() of a nest; samples are warmed up by themselves.
inline void simulate_nest_warm(const model::Nest& nest, model::Hierarchy& caches) {
  model::NestSimulation simulation(nest, caches.machine(), acceleration(caches.machine()));
  if (!simulation.sampled()) {
    caches.progress.part(0, 0.5);
    simulation.run(caches);
    caches.reset_counters();
  }
  caches.progress.part(simulation.sampled() ? 0 : 0.5, 1);
  simulation.run(caches);
}

} // namespace recount::kernel
