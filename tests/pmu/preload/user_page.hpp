// The first page of an event's mapping, from which user space reads a counter: struct perf_event_mmap_page.
#pragma once

#include "slot.hpp"

namespace pmu {

/// The slot's value or counter has changed.
void update_page(const Slot& slot, std::int32_t index);

} // namespace pmu
