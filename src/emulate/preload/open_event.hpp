// perf_event_open(2).
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

namespace recount::emulate {

[[nodiscard]] long open_event(perf_event_attr* attr, pid_t pid, int cpu, int group_fd, unsigned long flags);
/// 0, or the errno that an injection gives for this call about this slot.
[[nodiscard]] int injected(const char* call, int slot);
/// The descriptor is closed in this process.
void close_event(int fd);
/// Descriptors of events that were there before this program was executed.
void adopt_descriptors();

} // namespace recount::emulate
