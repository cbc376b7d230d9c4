// The one function by which commands print: control characters of input are shown, not sent.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace recount::command {

/// Terminal controls of this program: "\033[...", "\r" and "\f" in `text` get a mark that is drawn at random
/// for each process, so that terminal_text() tells them from those in its input. For literals, and for what
/// gnuplot draws, whose strings are printable (show/plot/gnuplot.hpp).
[[nodiscard]] std::string own_controls(std::string_view text);

/// The text for the terminal: own controls are kept; other controls, and bytes that are not UTF-8, are made
/// visible (base::append_printable()). Line ends and tabs are kept. JSON remains the same JSON.
[[nodiscard]] std::string terminal_text(std::string_view text);

/// The same for text on one line, such as a cell: line ends and tabs are made visible, own controls keep
/// their mark.
[[nodiscard]] std::string one_line(std::string_view text);

/// As fmt::vformat. Controls in the pattern are own ones.
[[nodiscard]] std::string format_own(fmt::string_view pattern, fmt::format_args arguments);

/// As fmt::print, of terminal_text(). Controls in the pattern are own ones.
template <class... Arguments>
void print(std::FILE* stream, fmt::format_string<Arguments...> pattern, Arguments&&... arguments) {
  fmt::print(stream, "{}", terminal_text(format_own(pattern, fmt::make_format_args(arguments...))));
}
template <class... Arguments>
void print(fmt::format_string<Arguments...> pattern, Arguments&&... arguments) {
  command::print(stdout, pattern, std::forward<Arguments>(arguments)...);
}

/// Warnings, errors and remarks: as print() to stderr, in lines as wide as the terminal, see fit_lines().
void write_note(const std::string& text);
template <class... Arguments>
void note(fmt::format_string<Arguments...> pattern, Arguments&&... arguments) {
  write_note(format_own(pattern, fmt::make_format_args(arguments...)));
}

} // namespace recount::command
