// Likely causes of a count that differs from the expected one by a known factor (data/causes.txt).
#pragma once

#include "statistics/statistics.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace recount::check {

/// One row.
struct Cause {
  std::vector<std::string> presets;      ///< patterns of names without "PAPI_"
  std::vector<statistics::Band> factors; ///< counted / expected
  std::string text;
};

/// Reads the format that data/causes.txt explains. Throws Error (bad_input) naming the line at fault.
[[nodiscard]] std::vector<Cause> parse_causes(std::string_view text, const std::string& file);
/// Those built in.
[[nodiscard]] const std::vector<Cause>& causes();

/// The likely causes for a preset or event that counts `factor` times too much, most likely first, two at
/// most.
[[nodiscard]] std::vector<std::string> likely_causes(const std::string& preset, double factor,
                                                     const std::vector<Cause>& all = causes());

} // namespace recount::check
