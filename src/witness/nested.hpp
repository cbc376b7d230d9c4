// perf's counters and PAPI's around one execution of a region.
#pragma once

#include "kernel/kernel.hpp"
#include "witness/stopwatch.hpp"

#include <recount/group.hpp>
#include <recount/papi.hpp>

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
  Nested(const std::vector<Event>& events, const std::vector<std::string>& names);
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

} // namespace recount::witness
