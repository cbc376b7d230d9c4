// Call chains as text, for flame graphs.
#pragma once

#include "profile/located.hpp"

#include <string>

namespace recount::profile {

/// One line per chain, "main;work;inner 123": outermost first, including inlined functions, and the
/// weight of an event's samples. This is the input format of Brendan Gregg's flamegraph.pl. Blanks and
/// semicolons within names become '_' and ':'.
[[nodiscard]] std::string folded(const Places& places, const Naming& naming, std::size_t event);

} // namespace recount::profile
