// What --version prints.
#pragma once

#include <string>

namespace recount::cli {

/// One line with the version of recount and its commit, then one line for each loaded library.
[[nodiscard]] std::string version_text();

} // namespace recount::cli
