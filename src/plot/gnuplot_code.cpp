#include "plot/gnuplot_code.hpp"

#include "base/characters.hpp"

#include <algorithm>

namespace recount::figure {
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

bool is_plain(char c) {
  return c >= ' ' && c <= '~' && c != '\'' && c != '\\';
}
} // namespace

GnuplotCode quoted(std::string_view text, bool tex) {
  std::string out = "'";
  for (const char c : host::printable(text)) {
    const auto escaped = tex ? tex_of(c) : std::string_view{};
    if (!escaped.empty()) {
      out += escaped;
    } else {
      out += c == '\'' ? "''" : std::string(1, c);
    }
  }
  return {GnuplotCode::Made{}, out + "'"};
}

GnuplotCode quoted_tic(std::string_view text, bool tex) {
  std::string doubled;
  const GnuplotCode name = quoted(text, tex);
  for (const char c : name.text()) // after the escapes: "\\%" becomes "\\%%"
    doubled += c == '%' ? std::string("%%") : std::string(1, c);
  return {GnuplotCode::Made{}, doubled};
}

GnuplotCode file_literal(std::string_view path) {
  const bool special = path == "-" || path.starts_with('|') || path.starts_with('~');
  const std::string name = (special ? "./" : "") + std::string(path);
  if (std::ranges::all_of(name, is_plain)) return {GnuplotCode::Made{}, "'" + name + "'"};
  std::string out = "\"";
  for (const char c : name)
    out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  return {GnuplotCode::Made{}, out + "\""};
}

GnuplotCode comment(std::string_view text) {
  return {GnuplotCode::Made{}, "# " + host::printable(text) + (text.ends_with('\\') ? " \n" : "\n")};
}

} // namespace recount::figure
