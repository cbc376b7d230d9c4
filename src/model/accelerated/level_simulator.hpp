// Simulates the sets of one level from their traces; outcomes of traces on states are stored and reused.
#pragma once

#include "model/accelerated/one_set.hpp"
#include "model/accelerated/order.hpp"
#include "model/accelerated/set_trace.hpp"
#include "model/accelerated/slots.hpp"
#include "model/accelerated/splitter.hpp"
#include "model/accelerated/trace_merge.hpp"
#include "model/accelerated/trace_rows.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace recount::model {

struct LevelShape {
  SetRules rules;
  SetIndex index{1};
  unsigned order_shift = 0; ///< where in a tag the two bits of this level lie
  bool apart = false;       ///< each set here and below receives requests from one set only
  Below below;
};

struct LevelLimits {
  std::size_t bytes = std::size_t{3} << 27; ///< above this, all stored outcomes are discarded
  std::uint64_t events = 48;                ///< outcomes of segments with fewer events are not stored
};

/// Statistics of the work done.
struct LevelEffort {
  std::int64_t lookups = 0, hits = 0; ///< of stored outcomes
  std::int64_t events = 0;            ///< simulated one by one
  std::int64_t pieces = 0;            ///< traces made for the level below, before interning
  std::int64_t flushes = 0;           ///< discards of all stored outcomes for lack of memory

  LevelEffort& operator+=(const LevelEffort& other) {
    lookups += other.lookups;
    hits += other.hits;
    events += other.events;
    pieces += other.pieces;
    flushes += other.flushes;
    return *this;
  }
};

/// Not thread-safe. Keeps references to the store of the traces that it is given, which it only reads, and to
/// that of those that it hands down; they may be the same.
class LevelSimulator {
public:
  LevelSimulator(const LevelShape& shape, const LevelLimits& limits, const SetTraces& traces,
                 SetTraces& below);

  /// Simulates set number `set` over the traces, from and to `entries` and `tree` (those of the set in the
  /// level; see Level::read()). False when more traces meet than Slots can hold.
  bool run(std::int64_t set, std::span<const PlacedTrace> in, std::span<Level::Entry> entries,
           std::uint64_t* tree);
  /// Calls give(trace) for every trace that the last run sends to the level below; lines are still of the
  /// set.
  template <class Give>
  void hand_down(Give&& give) const {
    for (const Piece& piece : pieces_)
      give(PlacedTrace{piece.id, piece.line});
  }

  [[nodiscard]] const LevelShape& shape() const { return shape_; }
  /// Of all sets so far.
  [[nodiscard]] const SetCounts& counts() const { return one_.counts; }
  [[nodiscard]] const LevelEffort& effort() const { return effort_; }
  /// Memory of the stored outcomes.
  [[nodiscard]] std::size_t bytes() const;
  void forget();
  /// Likewise of the traces that it has read, before they get other numbers.
  [[nodiscard]] std::size_t row_bytes() const { return rows_.bytes(); }
  void forget_rows() { rows_.clear(); }

private:
  /// A trace that goes to the level below; `line` is that of its first event, still of the set above.
  struct Piece {
    std::uint32_t at = 0; ///< of which segment inside
    std::uint32_t id = 0;
    std::int64_t line = 0;
    std::uint32_t times = 1; ///< in so many segments in a row
  };
  /// Some traces on the stack.
  struct Range {
    std::size_t from = 0, size = 0;
  };
  struct Frame { ///< of one branch under way
    TraceMerge merge;
    std::vector<PlacedTrace> last;
    std::vector<Level::Entry> entries;
  };
  struct Run { ///< how far one trace's row is
    const TraceRows::Timed* next;
    const TraceRows::Timed* end;
    std::uint64_t time;
    std::uint32_t count;
    std::int64_t line;
  };
  /// Pieces (or events) that become one trace.
  struct Group {
    std::vector<TraceChild> children;
    std::vector<TraceEvent> events;
    std::int64_t line = 0; ///< of the first, in this set
    unsigned slot = 0;
    std::uint32_t next = 0; ///< number + 1 of another group of the same slot
  };

  // level_simulator.cpp
  void unwrap(Range in);
  void apply(Range in);
  void execute(Range in, const Slots& slots);
  void branch(Range in);
  // level_simulator_rows.cpp
  bool in_rows(Range in);
  void merge_rows();
  void take(const Run& run, std::uint32_t count);
  // level_simulator_memory.cpp
  bool encode_state(Range in, const Slots& slots, std::span<const Level::Entry> entries);
  const std::uint64_t* store_outcome(const Slots& slots, std::span<const Level::Entry> old,
                                     const SetCounts& before, std::size_t pieces);
  void apply_outcome(const Slots& slots, std::span<const Level::Entry> old, const std::uint64_t* outcome);
  // level_simulator_pieces.cpp
  void group_events(const Slots& slots);
  void group_pieces(const Slots& slots, std::size_t from);
  Group& open_group(std::uint32_t& link, unsigned slot, std::int64_t line);
  void close_groups();

  [[nodiscard]] std::span<const PlacedTrace> at(Range in) const {
    return std::span(stack_).subspan(in.from, in.size);
  }
  [[nodiscard]] std::uint64_t events_of(Range in) const {
    std::uint64_t events = 0;
    for (const PlacedTrace& trace : at(in))
      events += traces_.about(trace.id).events;
    return events;
  }
  [[nodiscard]] std::uint64_t tree() { return has_word_ ? one_.level().words()[0] : 0; }

  LevelShape shape_;
  LevelLimits limits_;
  const SetTraces& traces_;
  SetTraces& traces_below_;
  TraceRows rows_;
  bool has_word_;
  OneSet one_;
  std::int64_t set_ = 0;
  bool lost_ = false; ///< more traces than Slots tells apart

  std::vector<PlacedTrace> stack_;
  std::deque<Frame> frames_; // stay where they are
  std::size_t depth_ = 0;
  std::vector<Run> runs_;
  std::vector<Piece> pieces_;
  std::vector<TraceEvent> events_; ///< for the level below, of the leaf under way; lines of this set

  std::deque<Group> groups_; // stay where they are
  std::size_t groups_used_ = 0;
  std::array<std::uint32_t, Slots::most + 1> group_of_{};  ///< by slot: number + 1 of the first group, or 0
  std::array<std::uint32_t, Slots::most + 1> last_leaf_{}; ///< likewise: the last trace made

  std::vector<std::uint64_t> key_, words_;
  Interner known_; ///< situations; aside: where in outcomes_ what came of it is, 0 when not known
  Arena outcomes_;
  LevelEffort effort_;
};

} // namespace recount::model
