// The worker process that serves one run, and what it answers.
#pragma once

#include "kernel/kernel.hpp"
#include "run/result/observation.hpp"
#include "run/witness/backend.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::sweep {

/// Kernel by name; a test adds kernels of its own.
using Lookup = std::function<const kernel::Kernel&(const std::string&)>;

/// A task as a line of JSON and back. parse_request() throws recount::Error (bad_input) for other text.
[[nodiscard]] std::string to_request(const witness::Task& task);
[[nodiscard]] witness::Task parse_request(std::string_view text);

/// Reads a request from descriptor `in`, prepares the kernel, runs it once as a warm-up and measures it.
/// Writes one observation per line to descriptor `out`, then {"type":"done","kernel_seconds":S}, or
/// failed_line() after a recount::Error. Returns the exit status of the process.
int serve(int in, int out, const Lookup& lookup);
/// The same for a request that was read.
int serve_request(const std::string& request, int out, const Lookup& lookup);

// The answer of a run, on the reading side.

/// The observations that a run wrote, and how it ended.
struct Answer {
  std::vector<result::Observation> observations;
  std::optional<double> kernel_seconds; ///< time spent in the kernel and its witness; none: the run failed
  Reason failed;                        ///< why the run failed; empty: it did not
};

/// A progress line, written before the answer: the completed share of a simulation.
[[nodiscard]] std::string progress_line(double share);
/// Removes progress lines from the front of `text`; returns the last share, if any.
[[nodiscard]] std::optional<double> take_progress(std::string& text);

/// The last lines of an answer.
[[nodiscard]] std::string done_line(double kernel_seconds);
[[nodiscard]] std::string failed_line(const Reason& reason);

/// Throws recount::Error (bad_input) for anything that is not an answer.
[[nodiscard]] Answer parse_answer(std::string_view text);

} // namespace recount::sweep
