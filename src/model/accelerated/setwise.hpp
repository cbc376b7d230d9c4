// Simulates a nest set by set instead of access by access.
#pragma once

#include "model/accelerated/gatherer.hpp"
#include "model/accelerated/level_simulator.hpp"
#include "model/accelerated/program.hpp"
#include "model/accelerated/sequencer.hpp"
#include "model/accelerated/source.hpp"
#include "model/accelerated/splitter.hpp"
#include "model/hierarchy.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace recount::model {

struct SetwiseLimits {
  std::size_t bytes = std::size_t{1} << 30; ///< limit on the memory of traces and outcomes
  std::uint64_t events = 48;                ///< outcomes of segments with fewer events are not stored
};

/// Where sets do not influence one another, each level is simulated set by set: first the TLBs, whose walks
/// join the program's accesses, then the caches from the core outwards. A set sees the few of a nest's
/// accesses that concern it, segments in which they are alike are simulated once, and what the set asks for
/// is handed to the sets below as it was found. Not thread-safe.
class Setwise {
public:
  /// Whether a machine is such: deterministic, neither inclusive nor exclusive levels, no prefetcher.
  static bool possible(const MachineDescription& machine);

  /// Keeps a reference to `program`, whose accesses must each lie within one line.
  Setwise(const MachineDescription& machine, const Program& program, const SetwiseLimits& limits);

  /// Simulates the nest from and to the hierarchy's state, adding to its counts. Stored outcomes are kept
  /// for further runs. False, and nothing changed, when it gave up: for lack of memory, or because it is not
  /// likely to take less than `worth` nanoseconds of this thread's processor time.
  bool run(Hierarchy& caches, double worth);

  [[nodiscard]] const std::deque<LevelSimulator>& simulators() const { return simulators_; }
  [[nodiscard]] std::size_t bytes() const;

private:
  using Inputs = std::vector<std::vector<PlacedTrace>>; ///< by set
  struct Budget {                                       ///< nanoseconds of processor time
    double start = 0, worth = 0;
  };
  struct Place { ///< of a level among the words of Hierarchy::state()
    std::size_t entries = 0, words = 0;
    bool has_words = false;
  };

  /// Traces, and what becomes of them by themselves.
  struct Store {
    SetTraces traces;
    Sequencer sequencer{traces};
  };

  [[nodiscard]] std::size_t bytes_of_slices() const;
  void forget(std::size_t at);
  bool free_memory(std::size_t at);
  void prepare(std::size_t at, std::size_t set);
  bool run_set(std::size_t at, std::size_t set, Hierarchy::State& state);
  bool run_level(std::size_t at, Hierarchy::State& state, const Budget& budget,
                 const std::function<void(double)>& tell);

  SetwiseLimits limits_;
  std::size_t tlbs_; ///< so many of the simulators are TLB levels, which come first
  /// The first simulator each of whose sets, with those below, is a slice of its own: it is simulated whole
  /// before the next set.
  std::size_t slices_;
  Store all_;   ///< of the levels down to that, which are simulated one after the other
  Store slice_; ///< below
  Gatherer gatherer_;
  std::optional<Source> pages_;
  Source lines_;
  std::deque<LevelSimulator> simulators_; // stay where they are
  std::deque<Splitter> splitters_;        ///< of each simulator, for what it hands down
  std::vector<Place> places_;             ///< likewise
  std::vector<Inputs> inputs_;            ///< likewise, of those to come
};

} // namespace recount::model
