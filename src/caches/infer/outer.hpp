// The levels beyond L2: shared, hashed, and in a virtual machine only partly available.
#pragma once

#include "caches/infer/inference.hpp"

namespace recount::caches {

/// Measurements just beyond L2.
struct BeyondSecond {
  double hit = 0;                ///< ns; 0: nothing was
  std::int64_t from = 0, to = 0; ///< bytes of the working sets that show it
};

/// Adds the part of the last level that this machine has, and the latency of memory.
void add_outer_levels(Caches& found, const BeyondSecond& beyond);

} // namespace recount::caches
