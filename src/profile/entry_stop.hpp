// Stops a program at its entry point: its libraries are mapped, none of its code has run.
#pragma once

#include <sys/types.h>

namespace recount::profile {

/// Lets a process that is stopped right after exec, and traced by the calling thread, run its dynamic linker
/// up to the entry point of the program, and stops it there. False if it ended before, or if the architecture
/// is not supported: then it stays stopped where it was.
bool run_to_entry(pid_t pid);

} // namespace recount::profile
