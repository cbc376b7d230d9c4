// --plot FILE of commands that draw one figure of what they measured.
#pragma once

#include "result/read.hpp"

#include <string>

namespace recount::cli {

/// Before anything runs: throws Error (bad_input) for a path of no known format.
void check_plot(const std::string& path);
/// Draws, and tells the file on stderr. Throws Error as figure::draw() does.
void draw_to(const std::string& path, const std::string& figure, const result::Results& results);

} // namespace recount::cli
