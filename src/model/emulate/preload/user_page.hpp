// The mappings of events: the page from which user space reads a counter (struct perf_event_mmap_page of
// perf_event_open(2)), and behind it the ring of samples.
#pragma once

#include "model/emulate/slot.hpp"

#include <cstddef>
#include <linux/perf_event.h>

namespace recount::emulate {

/// mmap(2) of an event of this process: memory of the simulation's own, or what Linux gives for its own
/// events.
[[nodiscard]] void* map_event(int fd, std::int32_t slot, std::size_t bytes, int protection, int flags,
                              off_t offset);
/// munmap(2) of memory. False: it stays, as it was mapped more than once.
[[nodiscard]] bool forget_mapping(void* at);
/// The ring of an event of Linux's own, at the descriptor, becomes one of the simulation where `slot` samples
/// into it: both write there.
void take_ring_of_linux(int fd, std::int32_t slot);
/// The page of a slot, where this process has mapped it; nullptr else.
[[nodiscard]] perf_event_mmap_page* find_page(std::int32_t slot);

/// The same with the ring behind it, of an event of any process; nullptr: it has none. Under the lock.
[[nodiscard]] perf_event_mmap_page* find_ring(const Shared& shared, std::int32_t slot);
/// What Linux has recorded of threads and their mappings goes to the ring that the slot's samples go to.
void copy_linux_records(std::int32_t slot);
/// Waits until who samples this program has copied what Linux has recorded of its start, at most 0.2 s: else
/// samples come before the records of the code that they are in. While the program is paused.
void await_linux_records();

/// The slot's value, times or counter have changed; whether it has a counter all the time now.
void update_page(const Slot& slot, std::int32_t index, bool scheduled);

/// Answers `rdpmc` of this process with the values of its simulated counters.
void answer_rdpmc();

} // namespace recount::emulate
