// The header line of a sweep's results.
#pragma once

#include "result/run.hpp"
#include "sweep/plan.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::sweep {

/// A new run of this plan on this machine, measured on `cpu` if it is pinned. `version` is recount's own.
[[nodiscard]] result::Run header(const Plan& plan, std::vector<std::string> command,
                                 const std::string& version, std::optional<int> cpu);

} // namespace recount::sweep
