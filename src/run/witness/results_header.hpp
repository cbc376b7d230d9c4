// The header line of results that this machine makes.
#pragma once

#include "run/result/observation.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::witness {

/// A new run on this machine, measured on `cpu` if it is pinned, without a plan. `version` is recount's own.
[[nodiscard]] result::Run machine_header(std::vector<std::string> command, const std::string& version,
                                         std::optional<int> cpu = {});

} // namespace recount::witness
