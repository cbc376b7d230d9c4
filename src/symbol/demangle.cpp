#include "symbol/scopes.hpp"

#include <csetjmp>
#include <cstddef>
#include <cstring>

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

constexpr int with_parameters = 1 | 2; ///< DMGL_PARAMS | DMGL_ANSI of libiberty

struct DemangledText {
  char text[longest_name];
  std::size_t size = 0;
  std::jmp_buf too_long;
};

void add_demangled(const char* text, std::size_t size, void* opaque) {
  auto& made = *static_cast<DemangledText*>(opaque);
  if (size > longest_name - made.size) std::longjmp(made.too_long, 1); // a few bytes can expand to gigabytes
  std::memcpy(made.text + made.size, text, size);
  made.size += size;
}

/// Separate, so that no object with a destructor is in the frame of setjmp; with a callback the
/// demanglers allocate nothing.
bool demangle_into(DemangledText& made, const char* name) {
  if (setjmp(made.too_long) != 0) return false;
  if (rust_demangle_callback(name, 0, add_demangled, &made) != 0) return true;
  made.size = 0;
  return cplus_demangle_v3_callback(name, with_parameters, add_demangled, &made) != 0;
}
} // namespace

std::string demangle(const char* name) {
  const std::size_t size = strnlen(name, longest_name + 1);
  DemangledText made;
  const bool mangled = size > 2 && name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
  if (!mangled || size > longest_name || !demangle_into(made, name)) return {name, size};
  return {made.text, made.size};
}

} // namespace recount::symbol
