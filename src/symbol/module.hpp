// One program or shared library: from an address to function and source line, from a name to addresses.
#pragma once

#include "process/fd.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount::symbol {

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
  std::string linkage; ///< as the symbol table has it
  std::uint64_t start = 0, end = 0;
  bool indirect = false; ///< IFUNC: a resolver selects the implementation at program start
};

/// A program or shared library. Addresses are those that the file states. Opens its debug information on
/// first use. Not thread-safe; movable.
class Module {
public:
  /// See ElfFile. Throws Error (bad_input).
  Module(process::Fd fd, const std::string& path, const std::string& debug_path = {});
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;
  ~Module();

  [[nodiscard]] std::span<const unsigned char> build_id() const;
  /// From an offset in the file to the address of what is loaded from there, and back.
  [[nodiscard]] std::optional<std::uint64_t> address(std::uint64_t offset) const;
  [[nodiscard]] std::optional<std::uint64_t> offset(std::uint64_t address) const;

  /// Where its memory ends, which is not all in the file.
  [[nodiscard]] std::uint64_t end() const;

  /// Innermost first: inlined functions, then the function whose code it is. Never empty.
  [[nodiscard]] std::vector<Frame> frames(std::uint64_t address);
  /// The function whose code covers an address, by its symbol, or by the debug information.
  [[nodiscard]] std::optional<Named> function(std::uint64_t address);
  /// The functions whose linkage name, demangled name, or demangled name without return type and parameters
  /// is `name`, or matches it where it holds * ? or [ (fnmatch(3)). One for each address, in their order;
  /// parts split off as cold, which no call enters, are left out.
  [[nodiscard]] std::vector<Named> functions(const std::string& name) const;
  /// A function found above, and the parts of it that the compiler put elsewhere as cold.
  [[nodiscard]] std::vector<Named> parts(const Named& function) const;
  /// The variables of that name, likewise.
  [[nodiscard]] std::vector<Named> variables(const std::string& name) const;
  /// Number of inlined instances of functions of that name (see functions()).
  /// Nothing without debug information, or if it is too large to search.
  [[nodiscard]] std::optional<std::size_t> inlined(const std::string& name);
  /// Loaded bytes, fewer at the end of what the file holds, and the machine they are for (EM_* of elf.h).
  [[nodiscard]] std::vector<unsigned char> bytes(std::uint64_t address, std::size_t size) const;
  [[nodiscard]] int machine() const;
  /// Whether it was compiled from Go, whose stacks move: no return address may be replaced.
  [[nodiscard]] bool is_go() const;
  /// What the file lacks, for people: "no debug information (no .debug file for build id 1f…)"; empty:
  /// nothing.
  [[nodiscard]] std::string lacks() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The vdso of this process, which every 64-bit process shares; nothing if there is none.
[[nodiscard]] std::optional<Module> vdso(const std::string& debug_path = {});

} // namespace recount::symbol
