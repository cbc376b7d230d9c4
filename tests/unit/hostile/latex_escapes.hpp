// What a LaTeX text consists of: commands, those that the escaping of text produces, braces.
#pragma once

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace recount::test {

inline std::set<std::string> latex_escapes() {
  std::istringstream words(
      "textbackslash { } $ & # % _ allowbreak textasciicircum textasciitilde textless textgreater textbar "
      "textquotedbl textquotesingle textasciigrave dots times cdot mu textdegree pm le ge approx "
      "textregistered texttrademark textcopyright textsuperscript texttt \\ begin end small raggedright "
      "raggedleft parbox strut footnotesize");
  return {std::istream_iterator<std::string>(words), {}};
}

/// All commands, in order; of an escaped character, the character.
inline std::vector<std::string> latex_commands(std::string_view tex) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < tex.size(); ++at) {
    if (tex[at] != '\\') continue;
    const std::size_t from = ++at;
    while (at < tex.size() && std::isalpha(static_cast<unsigned char>(tex[at])) != 0)
      ++at;
    at = std::max(at, from + 1) - 1;
    names.emplace_back(tex.substr(from, at + 1 - from));
  }
  return names;
}

inline bool latex_braces_match(std::string_view tex) {
  long depth = 0;
  for (std::size_t at = 0; at < tex.size() && depth >= 0; ++at) {
    if (tex[at] == '%') at = std::min(tex.find('\n', at), tex.size() - 1);
    if (tex[at] == '\\')
      ++at;
    else
      depth += tex[at] == '{' ? 1 : tex[at] == '}' ? -1 : 0;
  }
  return depth == 0;
}

} // namespace recount::test
