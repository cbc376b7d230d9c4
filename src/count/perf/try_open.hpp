// perf_event_open(2) with stepwise fallback for older kernels.
#pragma once

#include "base/process/fd.hpp"

#include <linux/perf_event.h>

#include <sys/types.h>

namespace recount::perf {

/// The system call's signature; a descriptor, or -1 with errno. Replaceable for tests.
using OpenCall = int (*)(perf_event_attr* attr, pid_t pid, int cpu, int group_fd, unsigned long flags);
int open_call(perf_event_attr* attr, pid_t pid, int cpu, int group_fd, unsigned long flags);

/// The attributes of a software event that never occurs; any user may open it.
[[nodiscard]] perf_event_attr dummy_attr();

/// Target of an event.
struct Target {
  pid_t pid = 0;
  int cpu = -1;
  int group_fd = -1;
  int cgroup = -1; ///< as GroupOptions::cgroup, in place of `pid`
};

/// In place of an errno: not opened, because events of its class (base/host/event_class.hpp) open here and
/// then count nothing.
inline constexpr int dead_class = -1;

/// Result of an attempt: a descriptor, or an errno.
struct Attempt {
  process::Fd fd;
  int error = 0;          ///< errno, or dead_class
  perf_event_attr attr{}; ///< as finally opened
};

/// Refuses events of a dead class. Opens with the size that the kernel knows: after E2BIG once more with the
/// size that it wrote back, unless that would drop a requested field. Where descriptors have run out it
/// raises the soft limit (RLIMIT_NOFILE) to the hard limit, see process::raise_open_files().
[[nodiscard]] Attempt open_sized(perf_event_attr attr, const Target& target, OpenCall call = open_call);

/// read(2) of an event or a group, repeated for up to a second while Linux refuses it with ECHILD: a child
/// that inherited the group has only some of its events while it is created or exits (__perf_read_group_add()
/// in kernel/events/core.c, since Linux 6.6).
[[nodiscard]] ssize_t read_again(int fd, void* to, std::size_t bytes);

} // namespace recount::perf
