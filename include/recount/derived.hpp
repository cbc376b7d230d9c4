// What follows from counts: values of formulas, and the counts as text for other programs.
#pragma once

#include <recount/count.hpp>

#include <optional>
#include <string>
#include <vector>

namespace recount {

/// A value that is computed from several counts.
struct DerivedValue {
  std::optional<double> value; ///< of the scaled counts (scale()); none: the reason says why
  double share = 1;            ///< the least share() of the counts in it; less than 1: an estimate
  Reason reason;
};

/// Evaluates a formula: names, numbers, + - * / and parentheses, as in recount-metrics(5). A name with other
/// characters than letters, digits, _ . and colons is in double quotes: "\"perf::PAGE-FAULTS\" /
/// \"perf::TASK-CLOCK\"". `names` are those of the counts, in their order. No value where a count has none,
/// and for a division by zero. Throws Error (bad_input) for a formula that cannot be parsed and for a name
/// that is not among `names`.
[[nodiscard]] DerivedValue derive(const std::string& formula, const std::vector<std::string>& names,
                                  const std::vector<Count>& counts);

/// One JSON object per count in an array: "event", "value" (null: not counted), "scaled", "share",
/// "enabled_ns", "running_ns", "reason" (only where "scaled" is null). One line.
[[nodiscard]] std::string to_json(const std::vector<std::string>& names, const std::vector<Count>& counts);
/// The same as CSV (RFC 4180, lines end with \n) with a header; an absent value is an empty field.
[[nodiscard]] std::string to_csv(const std::vector<std::string>& names, const std::vector<Count>& counts);

} // namespace recount
