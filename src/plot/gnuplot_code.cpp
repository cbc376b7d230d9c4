#include "plot/gnuplot_code.hpp"

#include "base/characters.hpp"

#include <cctype>

namespace recount::plot {
namespace {

std::string_view tex_of(char c) {
  switch (c) {
  case '\\': return "\\textbackslash{}";
  case '{': return "\\{";
  case '}': return "\\}";
  case '_': return "\\_";
  case '%': return "\\%";
  case '&': return "\\&";
  case '#': return "\\#";
  case '$': return "\\$";
  case '~': return "\\textasciitilde{}";
  case '^': return "\\textasciicircum{}";
  default: return {};
  }
}

/// Characters that need no escape in double quotes: the others are `...`, @macros, escapes, or begin a
/// comment.
bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view(" .,:;_-+=/()").find(c) != std::string_view::npos;
}

/// In single quotes where the string has neither quotes nor line ends. Gnuplot reads '' as one quote after
/// some characters only: not at the head of a string, and not after another '' (seen with
/// gnuplot 5.4.4).
std::string literal_of(const std::string& text) {
  if (text.find_first_of(std::string_view("'\n\r\0", 4)) == text.npos) return "'" + text + "'";
  std::string out = "\"";
  for (const char c : text)
    out += is_plain(c) ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  return out + "\"";
}

std::string shown(std::string_view text, bool tex) {
  std::string out;
  for (const char c : base::printable(text)) {
    const auto escaped = tex ? tex_of(c) : std::string_view{};
    if (escaped.empty())
      out += c;
    else
      out += escaped;
  }
  return out;
}
} // namespace

GnuplotCode quoted(std::string_view text, bool tex) {
  return {GnuplotCode::Made{}, literal_of(shown(text, tex))};
}

GnuplotCode quoted_tic(std::string_view text, bool tex) {
  std::string doubled;
  for (const char c : shown(text, tex)) // "\\%" becomes "\\%%"
    doubled += c == '%' ? std::string("%%") : std::string(1, c);
  return {GnuplotCode::Made{}, literal_of(doubled)};
}

GnuplotCode file_literal(std::string_view path) {
  const bool special = path == "-" || path.starts_with('|') || path.starts_with('~');
  const std::string name = (special ? "./" : "") + std::string(path);
  return {GnuplotCode::Made{}, literal_of(name)};
}

GnuplotCode comment(std::string_view text) {
  return {GnuplotCode::Made{}, "# " + base::printable(text) + (text.ends_with('\\') ? " \n" : "\n")};
}

} // namespace recount::plot
