// Simulates a nest set by set instead of access by access.
#pragma once

#include "model/accelerated/gatherer.hpp"
#include "model/accelerated/program.hpp"
#include "model/accelerated/slices.hpp"
#include "model/accelerated/source.hpp"
#include "model/hierarchy.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace recount::model {

struct SetwiseLimits {
  /// Limit on the memory of traces and outcomes: of the levels before the slices, and of each thread's
  /// slices.
  std::size_t bytes = std::size_t{1} << 30;
  std::uint64_t events = 48; ///< outcomes of segments with fewer events are not stored
  /// Threads that simulate slices; 0: up to 4, one per CPU of this process, and one for a short nest.
  std::size_t threads = 0;
};

/// Where sets do not influence one another, each level is simulated set by set: first the TLBs, whose walks
/// join the program's accesses, then the caches from the core outwards. A set sees the few of a nest's
/// accesses that concern it, segments in which they are alike are simulated once, and what the set asks for
/// is handed to the sets below as it was found. Counts and states do not depend on the number of threads. Not
/// thread-safe.
class Setwise {
public:
  /// Whether a machine is such: deterministic, neither inclusive nor exclusive levels, no prefetcher.
  static bool possible(const MachineDescription& machine);

  /// Keeps a reference to `program`, whose accesses must each lie within one line.
  Setwise(const MachineDescription& machine, const Program& program, const SetwiseLimits& limits);

  /// Simulates the nest from and to the hierarchy's state, adding to its counts. Stored outcomes are kept
  /// for further runs. False, and nothing changed, when it gave up: for lack of memory, or because it is not
  /// likely to take less than `worth` nanoseconds of processor time, of all threads together.
  bool run(Hierarchy& caches, double worth);

  /// The work done at a level; TLBs come first.
  [[nodiscard]] LevelEffort effort(std::size_t at) const;
  [[nodiscard]] std::size_t bytes() const;

private:
  using Inputs = std::vector<std::vector<PlacedTrace>>; ///< by set
  using Tell = std::function<void(double)>;
  struct Budget { ///< nanoseconds of processor time
    double start = 0, worth = 0;
    [[nodiscard]] double spent() const;
  };

  [[nodiscard]] std::size_t levels() const { return slices_ + workers_.front().stages().size(); }
  template <class Visit>
  void for_each_stage(std::size_t at, Visit&& visit) const;
  [[nodiscard]] SetCounts counts(std::size_t at) const;
  [[nodiscard]] std::size_t threads() const;
  bool free_memory(std::size_t at);
  void prepare(std::size_t at, std::size_t set);
  bool run_level(std::size_t at, Hierarchy::State& state, const Budget& budget, const Tell& tell);
  bool run_slices(Hierarchy::State& state, const Budget& budget, const Tell& tell);

  SetwiseLimits limits_;
  std::size_t tlbs_; ///< so many levels are TLB levels, which come first
  /// The first level each of whose sets, with those below, is a slice of its own: it is simulated whole
  /// before the next set.
  std::size_t slices_;
  TraceStore all_; ///< of the levels down to that, which are simulated one after the other
  Gatherer gatherer_;
  std::optional<Source> pages_;
  Source lines_;
  std::vector<Inputs> inputs_;         ///< of each level down to that
  std::deque<LevelStage> above_;       // stay where they are
  std::deque<SliceSimulator> workers_; // likewise; the first for this thread
};

} // namespace recount::model
