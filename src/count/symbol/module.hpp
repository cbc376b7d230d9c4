// One program or shared library: from an address to function and source line, from a name to addresses;
// names as in the source.
#pragma once

#include "base/process/fd.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount::symbol {

// Names of functions as in the source.

/// A C++ or Rust linkage name as source text; anything else as it is. Any input is harmless: a name
/// whose text would be longer than 4096 characters is left as it is. Thread-safe.
[[nodiscard]] std::string demangle(const char* name);

/// The name of a demangled function without its return type, parameters and qualifiers:
/// "ns::f<int>" of "void ns::f<int>(int) const [clone .isra.0]". Pure.
[[nodiscard]] std::string base_name(const std::string& demangled);

/// Whether a name or pattern (fnmatch(3)) of the user denotes the function with this demangled name: it
/// matches the name or its base_name(). Pure.
[[nodiscard]] bool denotes(const std::string& pattern, const std::string& demangled);

/// The source location of an address.
struct Frame {
  std::string function; ///< demangled; empty: no symbol covers the address
  std::string file;     ///< empty: no line table covers it
  int line = 0;         ///< 0: unknown
  bool inlined = false; ///< this function's code was inlined into the next frame's
};

/// A function or a variable by its symbol.
struct Named {
  std::string name;    ///< demangled
  std::string linkage; ///< as in the symbol table
  std::uint64_t start = 0, end = 0;
  bool indirect = false; ///< IFUNC: a resolver selects the implementation at program start
};

/// A program or shared library. Addresses are those in the file (p_vaddr), wherever it is mapped. Files are
/// not trusted: libelf and libdw check bounds. Symbols and debug information are read on first use. Not
/// thread-safe.
class Module {
public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  [[nodiscard]] virtual std::span<const unsigned char> build_id() const = 0;
  /// From an offset in the file to the address of what is loaded from there, and back.
  [[nodiscard]] virtual std::optional<std::uint64_t> address(std::uint64_t offset) const = 0;
  [[nodiscard]] virtual std::optional<std::uint64_t> offset(std::uint64_t address) const = 0;
  /// End of the memory of its last segment, part of which is not in the file.
  [[nodiscard]] virtual std::uint64_t end() const = 0;
  [[nodiscard]] virtual std::uint64_t entry() const = 0;
  /// Its dynamic linker (PT_INTERP); empty: none.
  [[nodiscard]] virtual std::string interpreter() const = 0;

  /// Innermost first: inlined functions, then the function whose code it is. Never empty.
  [[nodiscard]] virtual std::vector<Frame> frames(std::uint64_t address) = 0;
  /// The function whose code covers an address, by its symbol, or by the debug information.
  [[nodiscard]] virtual std::optional<Named> function(std::uint64_t address) = 0;
  /// The functions that `name` denotes, see denotes(). One for each address, in their order; parts split off
  /// as cold, which no call enters, are left out.
  [[nodiscard]] virtual std::vector<Named> functions(const std::string& name) = 0;
  /// A function found above, and the parts of it that the compiler placed elsewhere as cold.
  [[nodiscard]] virtual std::vector<Named> parts(const Named& function) = 0;
  /// The variables that `name` denotes.
  [[nodiscard]] virtual std::vector<Named> variables(const std::string& name) = 0;
  /// Number of inlined instances of functions that `name` denotes. Nothing without debug information, or if
  /// it is too large to search.
  [[nodiscard]] virtual std::optional<std::size_t> inlined(const std::string& name) = 0;
  /// Loaded bytes, fewer at the end of what the file holds.
  [[nodiscard]] virtual std::vector<unsigned char> bytes(std::uint64_t address, std::size_t size) const = 0;
  [[nodiscard]] virtual int machine() const = 0; ///< EM_* of elf.h
  /// Whether it was compiled from Go, whose stacks move: no return address may be replaced.
  [[nodiscard]] virtual bool is_go() const = 0;
  /// What is missing, for people: "no debug information: lines are unknown (...)"; empty: nothing.
  [[nodiscard]] virtual std::string lacks() = 0;
};

/// `path` names the file in messages and determines the search for its debug file, as gdb(1) does by build ID
/// and .gnu_debuglink: in its directory, in .debug/ there, in /usr/lib/debug and in `debug_path`
/// (directories, separated by ':'). Throws Error: bad_input if it is no program or shared library,
/// unavailable in a build without symbols.
[[nodiscard]] std::unique_ptr<Module> open_module(process::Fd fd, const std::string& path,
                                                  const std::string& debug_path = {});

/// The code that Linux maps into every 64-bit process, from the memory of this process; null: there is none.
[[nodiscard]] std::unique_ptr<Module> vdso(const std::string& debug_path = {});
/// Its bytes as a file; empty: there is none.
[[nodiscard]] process::Fd vdso_file();

/// Bytes from the entry point of a statically linked program to its main(), modulo 2^64; 0 for any other
/// file, and without symbols. The code between depends on the machine: libc reads the vdso's symbols, selects
/// functions for the CPU and relocates.
[[nodiscard]] std::uint64_t entry_to_main(const std::string& file);

} // namespace recount::symbol
