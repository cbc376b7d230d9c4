// What `recount profile --function` prints.
#pragma once

#include "command/output.hpp"
#include "profile/function_recording.hpp"

#include <string>

namespace recount::profile {

/// One for each function with completed calls.
[[nodiscard]] std::vector<command::Table> function_tables(const profile::FunctionRecording& recording);
/// `subject`: the command or the process.
[[nodiscard]] std::string functions_text(const profile::FunctionRecording& recording,
                                         const std::string& subject);
[[nodiscard]] std::string functions_json(const profile::FunctionRecording& recording,
                                         const std::string& subject);

} // namespace recount::profile
