// Counters that Linux removed from the command.
#pragma once

#include <chrono>
#include <string>

namespace recount::perf {

/// Linux removes the events of a task that gains privileges by execve(2), or whose program its user may not
/// read (begin_new_exec() in fs/exec.c: perf_event_exit_task() unless the process may be dumped). Their
/// enabled time then stops while the command continues to use processor time. `enabled`: of one counter,
/// summed over tasks. True also leaves room for the part of execve(2) that comes before they are enabled.
/// Pure.
[[nodiscard]] bool removed(std::chrono::nanoseconds enabled, std::chrono::nanoseconds used);
/// Why there is no count then.
[[nodiscard]] std::string removed_reason(std::chrono::nanoseconds enabled, std::chrono::nanoseconds used);

/// The same for descendants of the command: what is missing from the counts; empty: nothing known.
[[nodiscard]] std::string removed_in_part(std::chrono::nanoseconds enabled, std::chrono::nanoseconds used);

} // namespace recount::perf
