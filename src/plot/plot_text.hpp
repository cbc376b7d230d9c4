// Text in figures: its width, and line breaks.
#pragma once

#include "base/format.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::plot {

/// Width in points of UTF-8 text in Liberation Sans of this size. Widths of the Latin letters and digits are
/// those of the font (rounded to 1/100 em); others count as a digit.
[[nodiscard]] double text_width(std::string_view text, double size);
/// Characters, not bytes: the width of text in a terminal.
[[nodiscard]] std::size_t characters(std::string_view text);

/// Words gathered into lines that `wide` measures as no wider than `width` (a longer word gets its own line).
/// Pieces are joined by `joint` and never split.
[[nodiscard]] std::vector<std::string> wrap(const std::vector<std::string>& pieces, const std::string& joint,
                                            double width,
                                            const std::function<double(std::string_view)>& wide);

/// At most one line: the pieces that fit, in order; the first one without its last words if it is too wide.
[[nodiscard]] std::vector<std::string> in_one_line(const std::vector<std::string>& pieces,
                                                   const std::string& joint, double width,
                                                   const std::function<double(std::string_view)>& wide);

} // namespace recount::plot
