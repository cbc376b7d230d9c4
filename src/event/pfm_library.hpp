// Which libpfm4 answers: the one recount is linked with, or another one.
#pragma once

#include <string>

namespace recount::event::pfm {

/// Uses the libpfm4 of this file for all calls of event/pfm.hpp from now on. For one-time use at the start of
/// a command, before the first of these calls. Throws Error (bad_input) when it cannot be loaded.
void use_library(const std::string& path);
/// "4.13.0", or "4" when the name of its file does not tell more.
[[nodiscard]] std::string library_version();

} // namespace recount::event::pfm
