// The marks of recount check beside the values of other commands.
#pragma once

#include "verdict/verdict_store.hpp"

#include <string>

namespace recount::command {

/// The help of --no-verdicts.
inline constexpr const char* no_verdicts_help = "do not mark values with the verdicts of recount check";

/// The marks on this machine; none where `left_out` (--no-verdicts). Verdicts that cannot be read are one
/// warning on stderr.
[[nodiscard]] verdict::Marks verdict_marks(const std::string& command, bool left_out);

/// "(dead on this machine)"; empty for an empty mark.
[[nodiscard]] inline std::string in_parentheses(const std::string& mark) {
  return mark.empty() ? mark : "(" + mark + ")";
}

} // namespace recount::command
