// Whether the font that figures name is installed.
#pragma once

#include <optional>
#include <string>

namespace recount::plot {

/// A warning when fontconfig would take another font in its place, or cannot be asked; nothing when all is
/// well. Starts fc-match(1).
[[nodiscard]] std::optional<std::string> font_warning();

} // namespace recount::plot
