// The functions of one compilation unit, and what was inlined into them.
#pragma once

#include "symbol/elf_file.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace recount::symbol {

/// A C++ or Rust linkage name as source text; anything else as it is. Any input is harmless: a name
/// whose text would be longer than 4096 characters is left as it is. Thread-safe.
[[nodiscard]] std::string demangle(const char* name);

/// The name of a demangled function without its return type, parameters and qualifiers:
/// "ns::f<int>" of "void ns::f<int>(int) const [clone .isra.0]". Pure.
[[nodiscard]] std::string base_name(const std::string& demangled);

/// A function's code, or the code of one that was inlined there.
struct Scope {
  std::uint64_t low = 0, high = 0;
  std::uint32_t depth = 0; ///< of inlining: 0 for the function itself
  Dwarf_Die die{};
  bool inlined = false;
};

/// Built once by a walk over the unit; lookups need no walk.
class Scopes {
public:
  explicit Scopes(Unit& unit);
  /// Those that cover an address of the debug information, innermost first, the function itself last.
  [[nodiscard]] std::vector<Scope> at(std::uint64_t address) const;
  /// All, in order of address, outer before inner.
  [[nodiscard]] const std::vector<Scope>& all() const noexcept { return scopes_; }

private:
  void walk(Dwarf_Die& parent, std::uint32_t depth, int nesting);
  void add(Dwarf_Die& die, std::uint32_t depth, bool inlined);
  std::vector<Scope> scopes_;
};

/// The name that a function's entry gives, demangled; empty when it gives none.
[[nodiscard]] std::string name_of(Dwarf_Die& die);

} // namespace recount::symbol
