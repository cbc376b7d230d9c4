// Stops a program at its entry point: its libraries are mapped, none of its code has run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace recount::process {

/// Waits until a process that is started with Spawn::traced, by the calling thread, has stopped after exec.
/// False: it has ended, and stays to be waited for.
bool stopped_after_exec(pid_t pid);

/// Lets a process that is stopped right after exec, and traced by the calling thread, run its dynamic linker
/// up to `past` bytes behind the entry point of the program, and stops it there. False if it ended before.
bool run_to_entry(pid_t pid, std::uint64_t past = 0);

// Finds programs.

/// The file that exec would run for `name`: itself when it holds a slash, else the first executable regular
/// file of that name along PATH. Nothing when there is none.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

/// The file of the running program (/proc/self/exe), to start it again. Throws recount::Error (unavailable)
/// where /proc is not mounted.
[[nodiscard]] std::string this_program();

} // namespace recount::process
