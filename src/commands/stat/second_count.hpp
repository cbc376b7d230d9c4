// Where PAPI counted something else than perf: recount stat --witness perf,papi.
#pragma once

#include "base/statistics/statistics.hpp"
#include "run/stat_run.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace recount::stat {

/// What PAPI counted more than perf.
struct Difference {
  std::size_t perf = 0, papi = 0; ///< rows of the plan
  std::optional<double> value;    ///< mean of PAPI - mean of perf; none: one of them has no value
  std::optional<double> relative; ///< of perf's mean; none: that is not positive
  bool joint = false;             ///< both counted the same executions
  statistics::Evidence evidence = statistics::Evidence::clear; ///< of separate executions
  bool reported = false; ///< it changes what the reader may conclude: more than rounding, more than noise
  std::string why;       ///< a cause that was established; empty: none
};
/// Of every row of PAPI's that has one of perf's. Pure.
[[nodiscard]] std::vector<Difference> differences(const Plan& plan, const RunResult& ended);
/// One line for each reported difference, with its cause; and one if a single repetition decides nothing.
[[nodiscard]] std::vector<std::string> difference_notes(const Plan& plan, const RunResult& ended);

} // namespace recount::stat
