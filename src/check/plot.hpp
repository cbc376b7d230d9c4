// The figure of a check.
#pragma once

#include "check/check.hpp"

#include <string>

namespace recount::check {

/// Draws it; "-" is text on stdout. Throws Error as plot::draw() does. With nothing to draw
/// it prints a note on stderr.
void plot_check(const std::string& path, const Checked& checked, const result::Results& results);

} // namespace recount::check
