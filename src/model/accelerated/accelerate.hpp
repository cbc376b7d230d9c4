// Nests simulated by the shortest exact way.
#pragma once

#include "model/accelerated/nest.hpp"
#include "model/accelerated/program.hpp"
#include "model/accelerated/replay.hpp"
#include "model/accelerated/setwise.hpp"
#include "model/hierarchy.hpp"

#include <cstddef>
#include <optional>

namespace recount::model {

struct Acceleration {
  SetwiseLimits limits;
  bool setwise = true; ///< where possible; else access by access
  bool always = false; ///< set by set even where that is not likely to pay (for tests)
};

/// Simulates one nest, any number of times. Not thread-safe.
class NestSimulation {
public:
  NestSimulation(const Nest& nest, const MachineDescription& machine, const Acceleration& how = {});
  NestSimulation(const NestSimulation&) = delete;
  NestSimulation& operator=(const NestSimulation&) = delete;

  /// From and to the hierarchy's state (of the same machine), adding to its counts: exactly what replaying
  /// every access would give, in every count and in the state.
  void run(Hierarchy& caches);

  /// Whether run() simulates samples: the machine says so, and they are fewer accesses than the nest makes.
  [[nodiscard]] bool sampled() const { return sampled_; }
  /// Null when the nest is replayed access by access.
  [[nodiscard]] const Setwise* setwise() const { return setwise_ ? &*setwise_ : nullptr; }

private:
  Program program_;
  Acceleration how_;
  bool sampled_;
  double plain_; ///< nanoseconds that replaying may take at best
  std::optional<Setwise> setwise_;
  Replay replay_;
};

} // namespace recount::model
