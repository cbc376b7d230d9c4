// One panel within its cell of the page.
#pragma once

#include "figure/layout.hpp"

namespace recount::figure {

/// `key`: names stand in a key even where labels would fit.
[[nodiscard]] PanelLook look_of(const Panel& panel, const Box& cell, const Canvas& canvas, bool key);

} // namespace recount::figure
