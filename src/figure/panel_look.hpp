// One panel within its cell of the page.
#pragma once

#include "figure/layout.hpp"

namespace recount::figure {

[[nodiscard]] PanelLook look_of(const Panel& panel, const Box& cell, const Canvas& canvas);

} // namespace recount::figure
