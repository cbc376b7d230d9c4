// How far a sweep is.
#pragma once

#include "run/sweep_plan.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace recount::sweep {

/// How far a sweep is.
struct Progress {
  std::size_t done = 0, total = 0; ///< runs
  std::size_t failed = 0;
  std::chrono::nanoseconds elapsed{};
  std::optional<std::chrono::nanoseconds> remaining; ///< estimate; absent until something is known
  const Job* job = nullptr;                          ///< the last one that ended, or one under way
  std::optional<double> simulated;                   ///< share of `job` that is simulated, if reported
};

/// "37 of 120 runs, 2 failed, 12 s, about 25 s left".
[[nodiscard]] std::string show_progress(const Progress& progress);

} // namespace recount::sweep
