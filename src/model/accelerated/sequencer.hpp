// Traces that meet in one set, ordered by sequence numbers instead of times.
#pragma once

#include "model/accelerated/interner.hpp"
#include "model/accelerated/leaf_merge.hpp"
#include "model/accelerated/pair_table.hpp"
#include "model/accelerated/set_trace.hpp"
#include "model/accelerated/trace_merge.hpp"

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace recount::model {

/// Where nobody else must know when a set is asked, only the order counts. SetTraces whose events follow one
/// another alike become equal, and so what is remembered of one holds for the other: rows of a matrix begin
/// at 64 different places of their line, but meet a column's lines in few orders. Not thread-safe; keeps a
/// reference to the store.
class Sequencer {
public:
  explicit Sequencer(SetTraces& traces) : traces_(traces) {}

  /// Replaces the traces that meet in a set by those of the same events in the same order, numbered.
  void put(std::span<PlacedTrace> in);

  /// What became of what goes; the traces made stay.
  void forget() {
    known_.clear();
    pairs_.clear();
    results_ = {};
    alone_ = {};
  }
  [[nodiscard]] std::size_t bytes() const {
    return known_.bytes() + pairs_.bytes() +
           (results_.capacity() + alone_.capacity()) * sizeof(std::uint32_t);
  }

private:
  struct Segment {                               ///< alike, so many in a row
    std::uint32_t times = 0, from = 0, size = 0; ///< and their part of Frame::ids
  };
  struct Origin {
    std::uint32_t trace = 0; ///< which of those that meet
    std::int64_t line = 0;
  };
  struct Frame { ///< of one branch under way
    TraceMerge merge;
    std::vector<std::uint32_t> old, became;
    std::vector<Segment> segments;
    std::vector<std::uint32_t> ids; ///< of all segments
    std::vector<Origin> origins;    ///< likewise
    std::vector<std::vector<TraceChild>> children;
  };
  void divide(Frame& frame);
  void replace(std::span<std::uint32_t> ids);
  void renumber(std::span<std::uint32_t> ids);
  void leaves(std::span<std::uint32_t> ids);
  void branches(std::span<std::uint32_t> ids);

  SetTraces& traces_;
  std::vector<std::uint32_t> alone_;   ///< by id: what one trace alone becomes, + 1; 0: not known
  PairTable pairs_;                    ///< ids of two
  Interner known_;                     ///< ids of more; aside: where in results_ theirs begin, + 1
  std::vector<std::uint32_t> results_; ///< ids
  std::vector<std::uint32_t> ids_;
  std::deque<Frame> frames_; // stay where they are
  std::size_t depth_ = 0;
  LeafMerge merge_;
  std::vector<std::vector<TraceEvent>> leaves_;
};

} // namespace recount::model
