// Loads that wait for the load before: their addresses follow from it.
#pragma once

#include <capstone/capstone.h>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recount::emulate {

/// What an instruction does to general registers: a bit for each. The stack pointer is left out, as nobody
/// waits for it.
struct RegisterFlow {
  std::uint16_t read = 0, written = 0;
  std::uint16_t address = 0; ///< of what it loads
  std::uint16_t loaded = 0;  ///< gets what it loads
};
[[nodiscard]] RegisterFlow register_flow(csh decoder, const cs_insn& one);

/// Of the instructions of a block, those whose load lengthens the longest chain of loads, through registers,
/// each time that the block is executed after itself.
[[nodiscard]] std::vector<std::size_t> chained_loads(std::span<const RegisterFlow> block);

} // namespace recount::emulate
