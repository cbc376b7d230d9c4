// Machine code as text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace recount::symbol {

struct Instruction {
  std::uint64_t address = 0;
  unsigned size = 0; ///< bytes
  std::string text;  ///< "mov qword ptr [rip + 0x2f11], rax"
};

/// Takes code apart from its beginning on, up to the first bytes that are no instruction. `machine`: EM_* of
/// elf.h; empty for one that is not known. Any bytes. Thread-safe.
[[nodiscard]] std::vector<Instruction> disassemble(int machine, std::span<const unsigned char> code,
                                                   std::uint64_t address);

} // namespace recount::symbol
