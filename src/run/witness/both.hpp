// perf's counters and PAPI's around one execution of a region.
#pragma once

#include "kernel/kernel.hpp"
#include "run/witness/metric_events.hpp"
#include "run/witness/stopwatch.hpp"

#include <recount/group.hpp>
#include <recount/papi.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace recount::witness {

/// The outer interface starts first and stops last.
enum class Order { perf_outside, papi_outside, perf_alone, papi_alone };

/// Counts of one execution.
struct Reading {
  std::vector<Count> perf; ///< in the order of the events; empty when perf did not count
  std::vector<long long> papi;
  Watched watched;
};

/// Both open at once, for any number of executions. recount's group is flexible and PAPI's is pinned, so
/// if the counters do not suffice for both, recount's group is not scheduled: see complete().
class Nested {
public:
  /// Either list may be empty; then only the other can count. Throws Error as Counters and PapiSet do.
  Nested(const std::vector<Event>& events, const std::vector<std::string>& names,
         const GroupOptions& options = {});
  /// Whether perf's events are scheduled together or not at all.
  [[nodiscard]] bool perf_in_one_group() const;
  /// An exception of the region ends the counting.
  [[nodiscard]] Reading execute(const kernel::Region& region, Order order);
  /// The same over an empty region, without a check for disturbances.
  [[nodiscard]] Reading execute_nothing(Order order);

private:
  struct Call;
  [[nodiscard]] Reading read(Order order, Watched watched);
  std::optional<Counters> counters_;
  std::optional<PapiSet> set_;
  std::vector<long long> values_;
};

/// Whether every event was on a counter for its whole enabled time.
[[nodiscard]] bool complete(const std::vector<Count>& counts) noexcept;

// Which metrics are counted in one pass over the region.

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

/// The names that PAPI counts the set by.
[[nodiscard]] std::vector<std::string> names_of(const Set& set, const std::vector<std::string>& metrics);

/// Whether a set can be counted in one pass.
using Fits = std::function<bool(const Set&)>;
/// Whether its events open as one group that runs.
[[nodiscard]] bool fits_one_group(const Set& set);

/// First fit, in order: each metric that is `wanted` is added to the first set that can still be counted with
/// it, else to a new set. A set that could not be counted with two others takes no further events.
[[nodiscard]] std::vector<Set> make_sets(const std::vector<MetricEvents>& requested, const Fits& fits,
                                         const std::function<bool(std::size_t)>& wanted);
/// Of all that are not refused.
[[nodiscard]] std::vector<Set> make_sets(const std::vector<MetricEvents>& requested, const Fits& fits);

/// Executions of the region for each set by the witness `both`: four, or two where they would be equal (see
/// host::Emulation::repeatable). Thread-safe.
[[nodiscard]] std::size_t passes();

/// Resolves the metrics and divides them into the sets of the witness `both`, once: what is forked later need
/// not. Not thread-safe.
void prepare_both(const std::vector<std::string>& metrics);

} // namespace recount::witness
