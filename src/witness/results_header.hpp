// The header line of results that this machine makes.
#pragma once

#include "result/observation.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::witness {

/// Of the loaded libpfm4, as exactly as its file name states it.
[[nodiscard]] std::string libpfm_version();

/// A new run on this machine, measured on `cpu` if it is pinned, without a plan, with the marks of
/// verdict::Marks::of_this_machine() as its verdicts. `version` is recount's own.
[[nodiscard]] result::Run machine_header(std::vector<std::string> command, const std::string& version,
                                         std::optional<int> cpu = {});

} // namespace recount::witness
