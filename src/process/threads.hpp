// The threads of a process that runs, whoever started it.
#pragma once

#include <functional>
#include <sys/types.h>
#include <vector>

namespace recount::process {

/// The thread ids of a process now, the first thread's first. Empty when it has ended (or /proc is not
/// mounted).
[[nodiscard]] std::vector<pid_t> threads_of(pid_t pid);

/// Calls `take` once for each thread, and again for those that began meanwhile, until a look around finds no
/// new one. What a taken thread starts afterwards is up to `take` (perf events with inherit follow it), so
/// that none is missed. `take` gives false for a thread that has ended. How many were taken.
std::size_t each_thread(pid_t pid, const std::function<bool(pid_t tid)>& take);

} // namespace recount::process
