// What the simulated processes of a run add up to.
#pragma once

#include "model/hierarchy.hpp"
#include "trace/reader.hpp"
#include "trace/window_sampler.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace recount::trace {

struct Totals {
  Totals(const model::MachineDescription& machine, bool sampled);
  model::Hierarchy caches;                              ///< nothing is simulated in it: the sum of counts
  std::int64_t instructions = 0, loads = 0, stores = 0; ///< also those that are not simulated
  std::optional<model::Sampling> sampling;              ///< where not everything is
  bool too_few_windows = false;                         ///< in some process
  int processes = 0, threads = 0;
  bool section_seen = false;
  std::optional<Undecoded> undecoded; ///< the last instruction that Valgrind could not execute

  /// Adds a process that has ended, whose caches count no more. False: too few windows.
  bool add(const model::Hierarchy& process, const WindowSampler& sampler);
  /// Metrics of the machine, and the errors of those that are sampled.
  struct Values {
    std::map<std::string, std::int64_t> values;
    std::map<std::string, double> errors;
  };
  [[nodiscard]] Values values() const;
  /// Of the accesses, those that are simulated.
  [[nodiscard]] double percent() const;
};

/// Why there are no estimates where too_few_windows.
inline constexpr const char* too_few_windows =
    "a process has too few windows for an estimate: use a smaller --sample-every, or none";

} // namespace recount::trace
