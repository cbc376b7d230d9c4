// The formula of a preset for people.
#pragma once

#include <recount/preset.hpp>

#include <string>

namespace recount::preset {

/// In infix over the names of its native events: "LLC_REFERENCES - L2_RQSTS:CODE_RD_MISS". Empty when it
/// cannot be evaluated.
[[nodiscard]] std::string formula_text(const Preset& preset);

} // namespace recount::preset
