#include "model/nest_simulation.hpp"

#include "model/nest_replay.hpp"

#include <algorithm>
#include <bit>

namespace recount::model {

NestSimulation::NestSimulation(const Nest& nest, const MachineDescription& machine)
    : nest_(prepare(nest)),
      accesses_(accesses(nest_)),
      sampled_(machine.sampled && SampledReplay::pays(accesses_)) {}

void NestSimulation::run(Hierarchy& caches) {
  sampled_ ? SampledReplay(nest_, accesses_).run(caches) : run_completely(caches);
}

void NestSimulation::run_completely(Hierarchy& caches) {
  NestReplay replay(caches);
  double done = 0;
  for (std::size_t n = 0; n < nest_.nodes.size(); ++n) {
    const auto* const loop = std::get_if<NestLoop>(&nest_.nodes[n]);
    if (loop == nullptr || loop->innermost || loop->repeats) {
      replay.node(nest_.nodes[n]);
      continue;
    }
    Environment none{};
    const auto own = static_cast<double>(accesses(*loop, none));
    const bool known = replay.iterations(*loop, [&](std::int64_t trip, std::int64_t trips) {
      const double share = static_cast<double>(trip) / static_cast<double>(trips);
      caches.progress.report((done + own * share) / static_cast<double>(accesses_));
      return std::has_single_bit(static_cast<std::uint64_t>(trip)) && replay.comparing_pays(*loop) &&
             continues_as_first(n, trip, caches);
    });
    if (known) return;
    done += own;
  }
  if (!end_) end_ = caches;
}

/// Whether the first run was in the same state after so many iterations. Then `caches` becomes what it was at
/// its end.
bool NestSimulation::continues_as_first(std::size_t node, std::int64_t trips, Hierarchy& caches) {
  Hierarchy::State state = caches.state();
  if (!end_) {
    marks_.push_back({node, trips, std::move(state), caches.counts()});
    return false;
  }
  const auto mark =
      std::ranges::find_if(marks_, [&](const Mark& m) { return m.node == node && m.trips == trips; });
  if (mark == marks_.end() || mark->state != state) return false;
  const Counts counts = caches.counts();
  const Progress progress = caches.progress;
  caches = *end_;
  caches.progress = progress;
  caches.add(counts, mark->counts, 1);
  return true;
}

void simulate_nest(const Nest& nest, Hierarchy& caches) {
  NestSimulation(nest, caches.machine()).run(caches);
}

void simulate_nest_warm(const Nest& nest, Hierarchy& caches) {
  NestSimulation simulation(nest, caches.machine());
  if (!simulation.sampled()) {
    caches.progress.part(0, 0.5);
    simulation.run(caches);
    caches.reset_counters();
  }
  caches.progress.part(simulation.sampled() ? 0 : 0.5, 1);
  simulation.run(caches);
}

} // namespace recount::model
