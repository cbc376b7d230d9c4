// Machine code as text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace recount::symbol {

struct Instruction {
  std::uint64_t address = 0;
  unsigned size = 0; ///< bytes
  std::string text;  ///< "mov qword ptr [rip + 0x2f11], rax"
};

/// Disassembles code, any bytes, up to the first invalid instruction. `machine`: EM_* of elf.h. Empty: the
/// machine is not known. Thread-safe.
[[nodiscard]] std::vector<Instruction> disassemble(int machine, std::span<const unsigned char> code,
                                                   std::uint64_t address);

/// A range of code and its address.
struct Code {
  std::uint64_t address = 0;
  std::vector<unsigned char> bytes;
};
/// The addresses at which a function, given by its parts, is left: returns, and unconditional jumps out of
/// all parts. Empty if some may be unknown: after an unknown instruction, an indirect jump, or a conditional
/// exit.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> exits(int machine, const std::vector<Code>& parts);

// Versions of the libraries that names, lines and instructions come from.

using Versions = std::vector<std::pair<std::string, std::string>>; ///< name, version

/// Those that are loaded; none in a build without symbols.
[[nodiscard]] Versions library_versions();

} // namespace recount::symbol
