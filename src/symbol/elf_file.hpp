// An ELF file and the debug information that belongs to it, opened through libdwfl. Only src/symbol knows
// elfutils.
#pragma once

#include "process/fd.hpp"

#include <cstdint>
#include <elfutils/libdwfl.h>
#include <memory>
#include <optional>
#include <span>
#include <string>
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

} // namespace recount::symbol
