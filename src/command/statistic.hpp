// --statistic of commands that summarise repetitions.
#pragma once

#include "statistics/statistics.hpp"

#include <string>

namespace recount::command {

inline constexpr const char* statistic_help =
    "show this statistic of the repetitions: median, minimum, mean (default median, with its 95 % interval)";

/// The median when empty. Throws recount::Error (bad_input).
[[nodiscard]] inline statistics::Statistic parse_statistic(const std::string& text) {
  return text.empty() ? statistics::Statistic::median : statistics::parse_statistic(text);
}

} // namespace recount::command
