// The calls of functions as tables for people and as JSON.
#pragma once

#include "command/output.hpp"
#include "profile/function_recording.hpp"

#include <string>
#include <vector>

namespace recount::profile {

/// One for each function with completed calls.
[[nodiscard]] std::vector<command::Table> function_tables(const FunctionRecording& recording);
/// `subject`: the command or the process.
[[nodiscard]] std::string functions_text(const FunctionRecording& recording, const std::string& subject);
[[nodiscard]] std::string functions_json(const FunctionRecording& recording, const std::string& subject);

} // namespace recount::profile
