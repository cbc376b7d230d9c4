// How large the terminal is that a figure is drawn on.
#pragma once

#include "plot/figure.hpp"

namespace recount::command {

/// That of stdout, else COLUMNS and LINES, else 80 by 24; in colour where stdout is a terminal and NO_COLOR
/// is not set.
[[nodiscard]] plot::TextSize terminal_size();

} // namespace recount::command
