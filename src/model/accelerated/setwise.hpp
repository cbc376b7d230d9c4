// Simulates a nest set by set instead of access by access.
#pragma once

#include "model/accelerated/program.hpp"
#include "model/accelerated/sequencer.hpp"
#include "model/accelerated/source.hpp"
#include "model/accelerated/stage.hpp"
#include "model/hierarchy.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace recount::model {

struct SetwiseLimits {
  std::size_t bytes = std::size_t{1} << 30; ///< what is remembered takes about so much
  std::uint64_t events = 48;                ///< stretches of fewer are not worth remembering
};

/// Where every set decides for itself, each level is many small machines that know nothing of one another:
/// first the TLBs, whose walks join the program's accesses, then the caches from the core outwards. A set
/// sees the few of a nest's accesses that concern it, stretches in which they are alike are simulated once,
/// and what the set asks for is handed to the sets below as it was found. Not thread-safe.
class Setwise {
public:
  /// Whether a machine is such: deterministic, neither inclusive nor exclusive levels, no prefetcher.
  static bool possible(const MachineDescription& machine);

  /// Keeps a reference to `program`, whose accesses must each lie within one line.
  Setwise(const MachineDescription& machine, const Program& program, const SetwiseLimits& limits);

  /// Simulates the nest from and to the hierarchy's state, adding to its counts. What was remembered stays
  /// for further runs. False, and nothing changed, when it gave up: for want of memory, or because it is not
  /// likely to take less than `worth` nanoseconds of this thread's processor time.
  bool run(Hierarchy& caches, double worth);

  [[nodiscard]] const std::deque<Stage>& stages() const { return stages_; }
  [[nodiscard]] std::size_t bytes() const;

private:
  using Inputs = std::vector<std::vector<StrandAt>>; ///< by set
  struct Budget {                                    ///< nanoseconds of processor time
    double start = 0, worth = 0;
  };
  struct Place { ///< of a level among the words of Hierarchy::state()
    std::size_t entries = 0, trees = 0;
    bool plru = false;
  };

  bool make_room(std::size_t at);
  bool run_level(std::size_t at, Inputs& in, Inputs& out, Hierarchy::State& state, const Budget& budget,
                 const std::function<void(double)>& tell);

  const Program& program_;
  SetwiseLimits limits_;
  std::size_t tlbs_; ///< so many of the stages are TLB levels, which come first
  Strands strands_;
  Sequencer sequencer_;
  std::optional<Source> pages_;
  Source lines_;
  std::deque<Stage> stages_;  // stay where they are
  std::vector<Place> places_; ///< of each stage
};

} // namespace recount::model
