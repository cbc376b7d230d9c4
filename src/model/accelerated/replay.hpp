// Simulates a nest with runs on a line cut short.
#pragma once

#include "model/accelerated/program.hpp"
#include "model/hierarchy.hpp"

#include <cstdint>
#include <vector>

namespace recount::model {

/// Replays a nest, for any machine. Once a turn of an innermost loop has hit in the first cache and the first
/// TLB level throughout, further turns on the same lines only count; and so, once they leave the whole state
/// as it was, do turns of a loop around it in which every access stays in its line. A further run of the same
/// nest ends where it meets a state that the first run was in at the same place: what follows is known.
/// Keeps a reference to the program. Not thread-safe.
class Replay {
public:
  explicit Replay(const Program& program) : program_(program) {}

  /// From and to the hierarchy's state, always of the same machine, adding to its counts.
  void run(Hierarchy& caches);

private:
  class Runs;
  struct Mark { ///< the first run after some turns of an outermost loop
    std::size_t step = 0;
    std::int64_t turn = 0;
    Hierarchy::State state;
    Counts counts;
  };

  const Program& program_;
  std::vector<Mark> marks_;
  Hierarchy::State end_; ///< of the first run, as its counts
  Counts counts_;
  bool complete_ = false;
};

} // namespace recount::model
