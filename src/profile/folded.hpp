// Call chains as text, for flame graphs.
#pragma once

#include "profile/located.hpp"

#include <string>

namespace recount::profile {

/// A line a chain, "main;work;inner 123": outermost first, functions with what was inlined into them, and the
/// weight of an event's samples. This is what Brendan Gregg's flamegraph.pl and its kin read. Blanks and
/// semicolons within names become '_' and ':'.
[[nodiscard]] std::string folded(const Places& places, const Naming& naming, std::size_t event);

} // namespace recount::profile
