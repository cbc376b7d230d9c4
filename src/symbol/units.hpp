// The compilation units of a file's debug information, found by address.
#pragma once

#include "symbol/elf_file.hpp"

#include <cstdint>
#include <vector>

namespace recount::symbol {

/// A compilation unit: `skeleton` holds its lines, `die` its functions (they differ with split DWARF only).
struct Unit {
  Dwarf_Die skeleton{}, die{};
};

/// By the ranges that the units themselves state: .debug_aranges is often missing. Addresses are those of
/// the debug information (see ElfFile::dwarf()).
class Units {
public:
  explicit Units(Dwarf* dwarf);
  /// The unit that covers an address; its number, or none.
  [[nodiscard]] std::optional<std::size_t> find(std::uint64_t address) const;
  [[nodiscard]] std::vector<Unit>& all() noexcept { return units_; }

private:
  struct Range {
    std::uint64_t low, high;
    std::uint32_t unit;
  };
  std::vector<Unit> units_;
  std::vector<Range> ranges_;
};

} // namespace recount::symbol
