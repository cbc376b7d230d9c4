// Stops a program at its entry point: its libraries are mapped, none of its code has run.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace recount::process {

/// Waits until a process that is started with Spawn::traced, by the calling thread, has stopped after exec.
/// False: it has ended, and stays to be waited for.
bool stopped_after_exec(pid_t pid);

/// Lets a process that is stopped right after exec, and traced by the calling thread, run its dynamic linker
/// up to `past` bytes behind the entry point of the program, and stops it there. False if it ended before, or
/// if the architecture is not supported: then it stays stopped where it was.
bool run_to_entry(pid_t pid, std::uint64_t past = 0);

} // namespace recount::process
