#include "symbol/scopes.hpp"

#include <dwarf.h>

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <tuple>

namespace recount::symbol {
namespace {
constexpr std::size_t most_scopes = 4'000'000; ///< of one unit, whatever a file states
constexpr int most_nesting = 200;

const char* text_of(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  return dwarf_attr_integrate(&die, name, &attribute) ? dwarf_formstring(&attribute) : nullptr;
}
} // namespace

std::string name_of(Dwarf_Die& die) {
  const char* name = text_of(die, DW_AT_linkage_name);
  if (!name) name = text_of(die, DW_AT_MIPS_linkage_name);
  if (!name) name = text_of(die, DW_AT_name);
  return name ? demangle(name) : std::string();
}

Scopes::Scopes(Unit& unit) {
  walk(unit.die, 0, 0);
  std::ranges::sort(scopes_, [](const Scope& a, const Scope& b) {
    return std::tuple(a.low, a.depth) < std::tuple(b.low, b.depth);
  });
}

void Scopes::add(Dwarf_Die& die, std::uint32_t depth, bool inlined) {
  Dwarf_Addr base = 0, low = 0, high = 0;
  for (ptrdiff_t at = 0;
       scopes_.size() < most_scopes && (at = dwarf_ranges(&die, at, &base, &low, &high)) > 0;)
    if (low < high) scopes_.push_back({low, high, depth, die, inlined});
}

void Scopes::walk(Dwarf_Die& parent, std::uint32_t depth, int nesting) {
  Dwarf_Die die;
  if (nesting > most_nesting || dwarf_child(&parent, &die) != 0) return;
  do {
    switch (dwarf_tag(&die)) {
    case DW_TAG_subprogram:
      add(die, 0, false);
      walk(die, 1, nesting + 1);
      break;
    case DW_TAG_inlined_subroutine:
      add(die, depth, true);
      walk(die, depth + 1, nesting + 1);
      break;
    case DW_TAG_namespace:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_module:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block: walk(die, depth, nesting + 1); break;
    default: break;
    }
  } while (scopes_.size() < most_scopes && dwarf_siblingof(&die, &die) == 0);
}

std::vector<Scope> Scopes::at(std::uint64_t address) const {
  std::vector<Scope> found;
  const auto after = std::ranges::upper_bound(scopes_, address, {}, &Scope::low);
  // Back to the function itself; its inlined parts begin after it begins, but a hot function may be split.
  for (auto it = after; it != scopes_.begin();) {
    --it;
    if (address < it->high) found.push_back(*it);
    if (it->depth == 0) break;
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &Scope::depth);
  return found;
}

} // namespace recount::symbol

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
