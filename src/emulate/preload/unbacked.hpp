// Events where perf_event_open(2) is refused to everybody, as by the seccomp profile of containers: a pipe
// stands for the event of Linux that is otherwise behind each.
#pragma once

#include "emulate/slot.hpp"

#include <cstddef>
#include <linux/perf_event.h>
#include <sys/types.h>

namespace recount::emulate {

/// Opens a descriptor after the checks that Linux makes of any event: sizes, unknown bits, targets, group. -1
/// and errno else. `given`: as many bytes as it states; `attr`: the known part of them.
[[nodiscard]] long open_unbacked(perf_event_attr& given, const perf_event_attr& attr, pid_t pid, int cpu,
                                 int group_fd, unsigned long flags);
/// Identifies the event of a descriptor in all processes; 0: none.
[[nodiscard]] std::uint64_t unbacked_id(int fd);
/// Whether the target of a link in /proc/self/fd is such a descriptor, perhaps.
[[nodiscard]] bool is_unbacked(const char* link);
/// read(2).
[[nodiscard]] ssize_t read_unbacked(std::int32_t slot, void* to, std::size_t bytes);
/// ioctl(2), except of requests that change what is counted.
[[nodiscard]] int control_unbacked(std::int32_t slot, unsigned long request, unsigned long argument);

} // namespace recount::emulate
