// The worker process that serves one run of the engine.
#pragma once

#include "kernel/kernel.hpp"
#include "result/observation.hpp"
#include "witness/backend.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// The answer of a run, on the reading side.

/// The lines that a run wrote, in order: observations, then how it ended.
struct Answer {
  std::vector<result::Observation> observations;
  std::optional<double> kernel_seconds; ///< it ended well: time that went into the kernel and its witness
  std::string failed; ///< why it has no result, as it reported; empty: it did not report a failure
};

/// A line before the answer: the share of a simulation that is done.
[[nodiscard]] std::string progress_line(double share);
/// Removes lines of progress from the front of `text`; returns the last share, if any.
[[nodiscard]] std::optional<double> take_progress(std::string& text);

/// The last lines of an answer.
[[nodiscard]] std::string done_line(double kernel_seconds);
[[nodiscard]] std::string failed_line(const std::string& reason);

/// Throws recount::Error (bad_input) for anything that is not an answer.
[[nodiscard]] Answer parse_answer(std::string_view text);

} // namespace recount::sweep
