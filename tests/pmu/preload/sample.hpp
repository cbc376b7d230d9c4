// Samples of simulated events, in rings of the layout of perf_event_open(2).
#pragma once

#include "slot.hpp"

#include <vector>

namespace pmu {

/// What has come due while the lock was held, to be signalled without it.
class Samples {
public:
  void take(Slot& slot, std::int32_t index);
  void deliver();
};

} // namespace pmu
