#include "symbol/scopes.hpp"

#include <algorithm>
#include <cstring>

namespace recount::symbol {
namespace {
/// Where the bracket that ends at `at` begins; npos when it has no partner.
std::size_t opening(const std::string& text, std::size_t at, char open, char close) {
  std::size_t depth = 0;
  for (std::size_t i = at + 1; i-- > 0;) {
    if (text[i] == close) ++depth;
    if (text[i] == open && --depth == 0) return i;
  }
  return std::string::npos;
}

/// Past the last blank outside brackets: the text before it is a return type. The name of an
/// operator may hold anything ("operator new", "operator<", "operator int").
std::size_t past_return_type(const std::string& text) {
  const std::size_t end = std::min(text.find("operator"), text.size());
  std::size_t depth = 0, past = 0;
  for (std::size_t i = 0; i < end; ++i) {
    const char c = text[i];
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if ((c == '>' || c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    if (c == ' ' && depth == 0) past = i + 1;
  }
  return past;
}
} // namespace

std::string base_name(const std::string& demangled) {
  std::string text = demangled.substr(0, demangled.find(" [clone "));
  for (const char* const qualifier : {" const", " volatile", " &&", " &"}) {
    if (text.ends_with(qualifier)) text.resize(text.size() - std::strlen(qualifier));
  }
  if (text.ends_with(')')) {
    const auto at = opening(text, text.size() - 1, '(', ')');
    if (at != std::string::npos && at > 0 && !text.ends_with("operator()")) text.resize(at);
  }
  return text.substr(past_return_type(text));
}

} // namespace recount::symbol
