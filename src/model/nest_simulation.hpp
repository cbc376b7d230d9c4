// Simulation of a loop nest: completely, or in samples.
#pragma once

#include "model/hierarchy.hpp"
#include "model/program.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace recount::model {

/// Simulates one nest, any number of times, for any machine. A complete simulation is exact: counts and state
/// are those of every access in order. It cuts short what cannot change either. Once a turn of an innermost
/// loop has hit in the first cache and the first TLB level throughout, further turns on the same lines are
/// only counted. So are turns of an outer loop in which every access stays in its line, once they leave the
/// whole state as it was. A further run of the nest ends where it meets a state that the first run was in at
/// the same place: what follows is known. Not thread-safe.
class NestSimulation {
public:
  NestSimulation(const Nest& nest, const MachineDescription& machine);
  NestSimulation(const NestSimulation&) = delete;
  NestSimulation& operator=(const NestSimulation&) = delete;

  /// From and to the hierarchy's state, always of the same machine, adding to its counts.
  void run(Hierarchy& caches);

  /// Whether run() simulates samples: the machine is sampled, and samples are fewer accesses than the nest.
  [[nodiscard]] bool sampled() const { return sampled_; }

private:
  class Replay;
  struct Mark { ///< the first run after some turns of an outermost loop
    std::size_t step = 0;
    std::int64_t turn = 0;
    Hierarchy::State state;
    Counts counts;
  };

  Program program_;
  bool sampled_;
  std::vector<Mark> marks_;
  Hierarchy::State end_; ///< of the first run, as its counts
  Counts counts_;
  bool complete_ = false; ///< the first run
};

/// Simulates a nest once.
void simulate_nest(const Nest& nest, Hierarchy& caches);
/// Simulates a nest twice, and counts the second run alone; samples have their own warm-up.
void simulate_nest_warm(const Nest& nest, Hierarchy& caches);

} // namespace recount::model
