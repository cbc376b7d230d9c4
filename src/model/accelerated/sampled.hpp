// Simulates a few parts of a nest and extrapolates.
#pragma once

#include "model/accelerated/program.hpp"
#include "model/hierarchy.hpp"

#include <cstdint>

namespace recount::model {

/// Simulates samples of a program, spread over its loops. Keeps a reference to the program.
class SampledReplay {
public:
  explicit SampledReplay(const Program& program) : program_(program), accesses_(accesses(program)) {}

  /// Whether samples are fewer accesses than the program makes.
  [[nodiscard]] bool worth() const { return accesses_ > most_windows * least_window; }
  /// Adds an estimate of what the program counts; the contents of the caches are then those of the last
  /// sample. Sets Hierarchy::sampling.
  void run(Hierarchy& caches) const;

  /// Accesses of a sample: one turn of a loop, or as many as make the least number.
  static constexpr std::int64_t least_window = 1 << 18, most_turn = std::int64_t{1} << 26;
  static constexpr std::int64_t most_warm_up = 4; ///< windows simulated before that which is counted
  /// Windows simulated at most: a loop with fewer is simulated completely.
  static constexpr std::int64_t most_windows = (most_warm_up + 1) * std::int64_t{Sampling::samples};

private:
  const Program& program_;
  std::int64_t accesses_;
};

} // namespace recount::model
