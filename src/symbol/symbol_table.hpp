// The functions and variables that an ELF file's symbol tables name, in order of their addresses.
#pragma once

#include "symbol/elf_file.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace recount::symbol {

/// A symbol; its name lies in the ELF file.
struct ElfSymbol {
  std::uint64_t start = 0, end = 0; ///< end == start: size unknown and nothing follows
  const char* name = "";
  bool function = true, indirect = false;
  unsigned char rank = 0; ///< of several at one address, the lowest is shown
};

/// Taken from .symtab, from that of the debug file, from the compressed one of .gnu_debugdata, else from
/// .dynsym. Immutable; thread-safe as long as the ElfFile lives.
class SymbolTable {
public:
  explicit SymbolTable(const ElfFile& file);
  /// The function that covers an address; null when there is none.
  [[nodiscard]] const ElfSymbol* find(std::uint64_t address) const;
  /// All, aliases included, in order of (start, rank).
  [[nodiscard]] const std::vector<ElfSymbol>& all() const noexcept { return symbols_; }
  /// Whether it has only the symbols for dynamic linking.
  [[nodiscard]] bool dynamic_only() const noexcept { return dynamic_only_; }

private:
  void choose();
  std::vector<ElfSymbol> symbols_;
  std::vector<std::uint32_t> shown_; ///< functions, one at each start, none without a size inside another
  bool dynamic_only_ = false;
};

} // namespace recount::symbol
