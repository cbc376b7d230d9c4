// Simulates slices: sets of a level with all below them.
#pragma once

#include "model/accelerated/level_simulator.hpp"
#include "model/accelerated/sequencer.hpp"
#include "model/accelerated/splitter.hpp"
#include "model/hierarchy.hpp"

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace recount::model {

/// Traces, and the sequencer that numbers them.
struct TraceStore {
  SetTraces traces;
  Sequencer sequencer{traces};

  /// Numbers the traces that meet in a set where that takes no more than its part of `limit` bytes.
  void order(std::span<PlacedTrace> in, std::size_t limit);
};

/// Where a level lies among the words of Hierarchy::state().
struct StatePlace {
  std::size_t entries = 0, words = 0;
  bool has_words = false;
};

/// One level: simulates its sets and divides what they ask for. Keeps references like a LevelSimulator.
struct LevelStage {
  LevelStage(const LevelShape& shape, const StatePlace& in_state, const LevelLimits& limits,
             const SetTraces& traces, SetTraces& below)
      : simulator(shape, limits, traces, below), splitter(shape.index, shape.below, below), place(in_state) {}

  /// LevelSimulator::run() from and to the hierarchy's state. Touches only the words of this set.
  bool run(std::size_t set, std::span<const PlacedTrace> in, Hierarchy::State& state);
  /// Calls give(set below, trace) for what the last run sends to the level below.
  template <class Give>
  void hand_down(std::size_t set, Give&& give) {
    if (simulator.shape().below.memory) return;
    simulator.hand_down(
        [&](const PlacedTrace& asked) { splitter.split(static_cast<std::int64_t>(set), asked, give); });
  }
  [[nodiscard]] std::size_t sets() const { return simulator.shape().index.sets(); }
  [[nodiscard]] std::size_t bytes() const {
    return simulator.bytes() + simulator.row_bytes() + splitter.bytes();
  }
  void forget() {
    simulator.forget();
    splitter.forget();
  }

  LevelSimulator simulator;
  Splitter splitter;
  StatePlace place;
};

/// Simulates sets of a level, each with all below it: a slice, whose sets nobody else asks. Threads that have
/// one of these each may work on one state at the same time, as long as nobody writes to `traces`.
class SliceSimulator {
public:
  /// The shapes of the level and those below, with their places; at most `bytes` are taken. Keeps a reference
  /// to the traces that the slices are given.
  SliceSimulator(std::span<const LevelShape> shapes, std::span<const StatePlace> places, std::size_t bytes,
                 std::uint64_t events, const SetTraces& traces);

  /// Simulates the slice of set number `set`. False, and not to be used again, for lack of memory.
  bool run(std::size_t set, std::span<const PlacedTrace> in, Hierarchy::State& state);

  [[nodiscard]] const std::deque<LevelStage>& stages() const { return stages_; }
  [[nodiscard]] std::size_t bytes() const;

private:
  bool run(std::size_t at, std::size_t set, std::span<const PlacedTrace> in, Hierarchy::State& state);
  void forget();

  std::size_t limit_;
  TraceStore store_;                                         ///< of the levels below the first
  std::deque<LevelStage> stages_;                            // stay where they are
  std::vector<std::vector<std::vector<PlacedTrace>>> below_; ///< by level and set: what is still to come
};

} // namespace recount::model
