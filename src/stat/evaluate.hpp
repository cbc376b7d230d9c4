// From counts to the values of the rows.
#pragma once

#include "process/child.hpp"
#include "result/observation.hpp"
#include "stat/plan.hpp"

#include <recount/count.hpp>

#include <span>
#include <vector>

namespace recount::stat {

/// One observation for each row: metric, value or reason, times and flags filled in, the rest left empty. A
/// ratio is computed from these counts only; it has no value if an operand was not counted. `counts` are in
/// the order of the plan's events, `seconds` is the wall time over which they were counted. Pure.
[[nodiscard]] std::vector<result::Observation> evaluate(const Plan& plan, std::span<const Count> counts,
                                                        double seconds);

/// Sets the values of the rows of kind usage. Pure.
void fill_usage(const Plan& plan, const process::Exit& exit, std::vector<result::Observation>& rows);

} // namespace recount::stat
