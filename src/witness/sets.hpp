// Which metrics are counted in one pass over the region.
#pragma once

#include "witness/metric_events.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace recount::witness {

/// Metrics counted together, and the counters that they need: an event that several of them use is one
/// counter.
struct Set {
  std::vector<std::size_t> metrics;         ///< indices
  std::vector<Event> events;                ///< each once
  std::vector<std::vector<std::size_t>> at; ///< for each of `metrics`, where its events are
  bool together = true;                     ///< false: one metric whose own events do not fit together

  /// The counts of the i-th of `metrics`, in the order of its own events.
  [[nodiscard]] std::vector<Count> counts_of(std::size_t i, const std::vector<Count>& counts) const;
};

/// Whether a set can be counted in one pass.
using Fits = std::function<bool(const Set&)>;
/// Whether its events open as one group that runs.
[[nodiscard]] bool fits_one_group(const Set& set);

/// First fit, in order: each metric that is not refused is added to the first set that can still be counted
/// with it, else to a new set. A set that could not be counted with two others takes no further events.
[[nodiscard]] std::vector<Set> sets_of(const std::vector<MetricEvents>& asked, const Fits& fits);

} // namespace recount::witness
