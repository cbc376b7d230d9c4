// Finds programs.
#pragma once

#include <optional>
#include <string>

namespace recount::process {

/// The file that exec would run for `name`: itself when it holds a slash, else the first executable regular
/// file of that name along PATH. Nothing when there is none.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

/// The file of the running program (/proc/self/exe), to start it again. Throws recount::Error (unavailable)
/// where /proc is not mounted.
[[nodiscard]] std::string this_program();

} // namespace recount::process
