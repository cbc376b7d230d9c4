// Simulates a nest with runs on a line cut short.
#pragma once

#include "model/accelerated/program.hpp"
#include "model/hierarchy.hpp"

namespace recount::model {

/// Replays the nest, for any machine. Once a turn of an innermost loop has hit in the first cache and the
/// first TLB level throughout, further turns on the same lines only count; and so, once they leave the whole
/// state as it was, do turns of a loop around it in which every access stays in its line.
void replay_runs(const Program& program, Hierarchy& caches);

} // namespace recount::model
