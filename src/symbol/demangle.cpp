#include "symbol/demangle.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <fnmatch.h>

// The demanglers of libiberty; <libiberty/demangle.h> declares a basename() that clashes with that of
// <cstring>.
extern "C" {
using DemangledPart = void (*)(const char* text, std::size_t size, void* opaque);
int cplus_demangle_v3_callback(const char* mangled, int options, DemangledPart part, void* opaque);
int rust_demangle_callback(const char* mangled, int options, DemangledPart part, void* opaque);
}

namespace recount::symbol {
namespace {
constexpr std::size_t longest_name = 4096; ///< of the linkage name, and of its text
constexpr int with_parameters = 1 | 2;     ///< DMGL_PARAMS | DMGL_ANSI of libiberty

struct DemangledText {
  char text[longest_name];
  std::size_t size = 0;
  std::jmp_buf too_long;
};

void add_part(const char* text, std::size_t size, void* opaque) {
  auto& demangled = *static_cast<DemangledText*>(opaque);
  // A few bytes can expand to gigabytes.
  if (size > longest_name - demangled.size) std::longjmp(demangled.too_long, 1);
  std::memcpy(demangled.text + demangled.size, text, size);
  demangled.size += size;
}

/// Separate, so that no object with a destructor is in the frame of setjmp; with a callback the
/// demanglers allocate nothing.
bool demangle_into(DemangledText& demangled, const char* name) {
  if (setjmp(demangled.too_long) != 0) return false;
  if (rust_demangle_callback(name, 0, add_part, &demangled) != 0) return true;
  demangled.size = 0;
  return cplus_demangle_v3_callback(name, with_parameters, add_part, &demangled) != 0;
}

/// Position of the opening parenthesis whose partner ends the text; npos: none.
std::size_t parameters(const std::string& text) {
  std::size_t depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) return i;
  }
  return std::string::npos;
}

/// Past the last blank outside brackets: the text before it is a return type. The name of an
/// operator may contain anything ("operator new", "operator<", "operator int").
std::size_t past_return_type(const std::string& text) {
  constexpr std::string_view opening = "<([{", closing = ">)]}";
  const std::size_t end = std::min(text.find("operator"), text.size());
  std::size_t depth = 0, past = 0;
  for (std::size_t i = 0; i < end; ++i) {
    if (opening.find(text[i]) != opening.npos) ++depth;
    if (closing.find(text[i]) != closing.npos && depth > 0) --depth;
    if (text[i] == ' ' && depth == 0) past = i + 1;
  }
  return past;
}
} // namespace

std::string demangle(const char* name) {
  const std::size_t size = strnlen(name, longest_name + 1);
  DemangledText demangled;
  const bool mangled = size > 2 && name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
  if (!mangled || size > longest_name || !demangle_into(demangled, name)) return {name, size};
  return {demangled.text, demangled.size};
}

std::string base_name(const std::string& demangled) {
  std::string text = demangled.substr(0, demangled.find(" [clone "));
  for (const char* const qualifier : {" const", " volatile", " &&", " &"})
    if (text.ends_with(qualifier)) text.resize(text.size() - std::strlen(qualifier));
  if (text.ends_with(')') && !text.ends_with("operator()"))
    if (const auto at = parameters(text); at != std::string::npos && at > 0) text.resize(at);
  return text.substr(past_return_type(text));
}

bool denotes(const std::string& pattern, const std::string& demangled) {
  const bool glob = pattern.find_first_of("*?[") != std::string::npos;
  const auto matches = [&](const std::string& name) {
    return name == pattern || (glob && ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0);
  };
  return matches(demangled) || matches(base_name(demangled));
}

} // namespace recount::symbol
