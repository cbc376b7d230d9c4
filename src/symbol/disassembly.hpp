// Machine code as text.
#pragma once

#include <cstdint>
#include <optional>
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

/// A stretch of code and where it lies.
struct Code {
  std::uint64_t address = 0;
  std::vector<unsigned char> bytes;
};
/// The instructions by which a function, given by its parts, leaves: returns, and jumps out of all parts for
/// good. None when they cannot all be told: an instruction that is not known, a jump to a computed address
/// (it may lead anywhere), a condition that decides whether it is left.
[[nodiscard]] std::optional<std::vector<std::uint64_t>> exits(int machine, const std::vector<Code>& parts);

} // namespace recount::symbol
