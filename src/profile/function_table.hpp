// What `recount profile --function` prints.
#pragma once

#include "profile/function_recording.hpp"

#include <string>

namespace recount::cli {

/// `subject`: the command or the process.
[[nodiscard]] std::string functions_text(const profile::FunctionRecording& recording,
                                         const std::string& subject);
[[nodiscard]] std::string functions_json(const profile::FunctionRecording& recording,
                                         const std::string& subject);

} // namespace recount::cli
