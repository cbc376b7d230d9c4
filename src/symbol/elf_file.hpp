// An ELF file and the debug information that belongs to it, opened through libdwfl. Only src/symbol knows
// elfutils.
#pragma once

#include "process/fd.hpp"

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recount::symbol {

/// Addresses are those of the file (p_vaddr), wherever it is mapped. Files are not trusted: libelf and libdw
/// check bounds. Not thread-safe.
class ElfFile {
public:
  /// Takes a program or a shared library. `path` names it in messages and determines the search for its debug
  /// file. Separate debug files are looked for by build id and by .gnu_debuglink as gdb does: beside it, in
  /// .debug/ beside it, under /usr/lib/debug and under `debug_path` (directories, separated by ':'). Throws
  /// Error (bad_input) when it is no such file.
  ElfFile(process::Fd fd, const std::string& path, const std::string& debug_path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] Dwfl_Module* module() const noexcept { return module_; }
  /// Null without debug information. `bias`: what is to be subtracted from an address before asking it.
  [[nodiscard]] Dwarf* dwarf(Dwarf_Addr& bias) const;
  [[nodiscard]] std::span<const unsigned char> build_id() const;
  /// From an offset in the file to the address of what is loaded from there, and back.
  [[nodiscard]] std::optional<std::uint64_t> address(std::uint64_t offset) const;
  [[nodiscard]] std::optional<std::uint64_t> offset(std::uint64_t address) const;
  /// Copies loaded bytes of the file; fewer where it ends.
  [[nodiscard]] std::vector<unsigned char> bytes(std::uint64_t address, std::size_t size) const;
  [[nodiscard]] int machine() const noexcept { return machine_; } ///< EM_X86_64, ...
  /// Where the memory of the last segment ends.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }
  [[nodiscard]] bool has_section(const char* name) const;

private:
  struct Segment {
    std::uint64_t address, offset, size; ///< size in the file
  };
  struct End {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  void read_segments(Elf* elf);

  std::string path_, debug_path_;
  char* debug_path_pointer_ = nullptr; ///< libdwfl keeps the address of this
  std::unique_ptr<Dwfl_Callbacks> callbacks_;
  std::unique_ptr<Dwfl, End> dwfl_;
  Dwfl_Module* module_ = nullptr;
  std::vector<Segment> segments_;
  int machine_ = 0;
  std::uint64_t end_ = 0;
};

// The functions and variables that an ELF file's symbol tables name, in order of their addresses.

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

// The compilation units of a file's debug information, found by address.

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
