// Traces that meet in one set and go through the same lines, made one.
#pragma once

#include "model/accelerated/interner.hpp"
#include "model/accelerated/leaf_merge.hpp"
#include "model/accelerated/set_trace.hpp"
#include "model/accelerated/trace_merge.hpp"

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace recount::model {

/// Where a set is asked by many sets above, each sends a thin trace of its own. Those of one array lie in the
/// same range of lines and are always met together, so one trace serves for all. Not thread-safe; keeps a
/// reference to the store.
class Gatherer {
public:
  explicit Gatherer(SetTraces& traces) : traces_(traces) {}

  /// Replaces traces whose ranges of lines meet by one of the same events in the same order.
  void put(std::vector<PlacedTrace>& in);

  /// What became of what goes; the traces made stay.
  void forget() {
    known_.clear();
    results_ = {};
  }
  [[nodiscard]] std::size_t bytes() const {
    return known_.bytes() + results_.capacity() * sizeof(PlacedTrace);
  }

private:
  struct Frame { ///< of one branch under way
    TraceMerge merge;
    std::vector<PlacedTrace> now, last;
    std::vector<TraceChild> children;
  };

  PlacedTrace join(std::span<const PlacedTrace> in);
  PlacedTrace leaves(std::span<const PlacedTrace> in);
  PlacedTrace branches(std::span<const PlacedTrace> in);

  SetTraces& traces_;
  Interner known_;                   ///< several traces; aside: where in results_ theirs is, + 1
  std::vector<PlacedTrace> results_; ///< lines relative to that of the first of them
  std::vector<std::uint64_t> key_;
  std::deque<Frame> frames_; // stay where they are
  std::size_t depth_ = 0;
  LeafMerge merge_;
  std::vector<TraceEvent> events_;
};

} // namespace recount::model
