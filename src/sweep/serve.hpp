// The worker process that serves one run of the engine.
#pragma once

#include "kernel/kernel.hpp"
#include "witness/witness.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace recount::sweep {

/// Kernel by name; a test adds kernels of its own.
using Lookup = std::function<const kernel::Kernel&(const std::string&)>;

/// A task as a line of JSON and back. Throws recount::Error (bad_input) when it is no task.
[[nodiscard]] std::string to_request(const witness::Task& task);
[[nodiscard]] witness::Task parse_request(std::string_view text);

/// Reads a request on descriptor `in`, prepares the kernel, warms it with one unmeasured call, observes, and
/// writes an observation a line, then the line {"type":"done","kernel_seconds":S} to descriptor `out`; or
/// {"type":"failed","reason":R} when a recount::Error ends it. Returns the exit status of the process.
int serve(int in, int out, const Lookup& lookup);

} // namespace recount::sweep
