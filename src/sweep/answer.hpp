// The answer of a run, on the reading side.
#pragma once

#include "result/observation.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::sweep {

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
