// Stopping a program where it begins: all its libraries are mapped, and nothing of it has run.
#pragma once

#include <sys/types.h>

namespace recount::profile {

/// Lets a process that is stopped right after exec, and traced by the calling thread, run its dynamic linker
/// up to the entry point of the program. It is then stopped there. False when it ended before, or where this
/// is not known for the architecture: then it is stopped where it was.
bool run_to_entry(pid_t pid);

} // namespace recount::profile
