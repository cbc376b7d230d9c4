// perf_event_open(2), and what perf_event_paranoid and perf_event_mlock_kb allow a process without
// capabilities.
#pragma once

#include "model/emulate/slot.hpp"

#include <linux/perf_event.h>
#include <sys/types.h>

namespace recount::emulate {

/// CAP_PERFMON or CAP_SYS_ADMIN.
[[nodiscard]] bool privileged();
/// 0, or the errno with which Linux refuses the event.
[[nodiscard]] int refused_by_level(const perf_event_attr& attr, pid_t pid);

[[nodiscard]] long open_event(perf_event_attr* attr, pid_t pid, int cpu, int group_fd, unsigned long flags);
/// 0, or the errno that an injection gives for this call about this slot.
[[nodiscard]] int injected(const char* call, int slot);
/// The descriptor is closed in this process.
void close_event(int fd);
/// Forgets an event of this process that nothing refers to any more.
void release_event(std::int32_t slot);
/// dup(2) and its like have given another descriptor, in place of what that was before.
void copy_event(int from, int to);
/// So are all of these.
void close_events(unsigned first, unsigned last);
/// The samples' period of an event that requests one, or a frequency.
[[nodiscard]] std::uint64_t period_of(const Slot& slot, bool frequency, std::uint64_t value);
/// Whether Linux refuses the frequency (perf_event_max_sample_rate).
[[nodiscard]] bool too_frequent(std::uint64_t frequency);
/// Descriptors of events that were there before this program was executed.
void adopt_descriptors();

} // namespace recount::emulate
