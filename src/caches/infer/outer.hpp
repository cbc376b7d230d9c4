// What lies beyond L2: shared, hashed, and in a virtual machine not what is built in.
#pragma once

#include "caches/infer/inference.hpp"

namespace recount::analysis {

/// What was seen right beyond L2.
struct BeyondSecond {
  double hit = 0;                ///< ns; 0: nothing was
  std::int64_t from = 0, to = 0; ///< bytes of the working sets that show it
};

/// Adds the last level, as far as this machine gets of it, and the latency of memory.
void add_outer_levels(Caches& found, const BeyondSecond& beyond);

} // namespace recount::analysis
