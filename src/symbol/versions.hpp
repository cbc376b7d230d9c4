// Versions of the libraries that names, lines and instructions come from.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace recount::symbol {

using Versions = std::vector<std::pair<std::string, std::string>>; ///< name, version

/// Those that are loaded; none in a build without symbols.
[[nodiscard]] Versions library_versions();

} // namespace recount::symbol
