// The threads of any running process.
#pragma once

#include <functional>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace recount::process {

/// The thread ids of a process now, the first thread's first. Empty when it has ended (or /proc is not
/// mounted).
[[nodiscard]] std::vector<pid_t> threads_of(pid_t pid);

/// The process (thread group) of a thread; none: it has ended, or /proc is not mounted.
[[nodiscard]] std::optional<pid_t> process_of(pid_t tid);

/// Calls `take` once for each thread, repeating until there are no new ones. `take` must follow threads
/// started later by a taken thread (perf events with inherit do), so that none is missed. It returns false
/// for a thread that has ended. Returns the number of taken threads.
std::size_t each_thread(pid_t pid, const std::function<bool(pid_t tid)>& take);

} // namespace recount::process
