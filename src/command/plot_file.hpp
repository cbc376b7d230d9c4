// --plot FILE of commands that draw one figure of what they measured.
#pragma once

#include "plot/figure.hpp"

#include <string>

namespace recount::command {

/// Before anything runs: throws Error (bad_input) for a path of no known format, and as
/// plot::check_drawable(). Empty is no figure; "-" is text on stdout, where the command knows it.
enum class Dash { file, text };
void check_plot(const std::string& path, Dash dash = Dash::file);
/// Prints the files and warnings of a figure on stderr.
void tell_drawn(const std::string& figure, const plot::Drawn& drawn);
/// Draws, and tells the file on stderr. Throws Error as plot::draw() does.
void draw_to(const std::string& path, const plot::Sheet& sheet);

} // namespace recount::command
