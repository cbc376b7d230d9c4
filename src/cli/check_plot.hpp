// The figure of a check.
#pragma once

#include "study/check.hpp"

#include <string>

namespace recount::cli {

/// Throws Error (bad_input) for a path whose suffix is no format's. Empty: no figure; "-": text on stdout.
void demand_plot_path(const std::string& path);
/// Draws it. Throws Error as figure::draw() does. Nothing to draw is a remark on stderr.
void plot_check(const std::string& path, const study::Checked& checked, const result::Results& results);

} // namespace recount::cli
