// What executing an instruction is, in the quantities of events.
#pragma once

#include "emulate/machine.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recount::emulate {

/// An x86-64 instruction: what the decoder tells of it; loads, stores and taken branches are not among it.
struct InstructionWork {
  std::vector<std::uint8_t> quantities; ///< one of each; Quantity::instructions is left out
  bool indirect = false;                ///< a jump or call whose target is computed, not a return
};
static_assert(all_quantities <= 256);

/// Of each instruction of a code: `lengths` in bytes, one after the other. An instruction that the decoder
/// does not know has none.
[[nodiscard]] std::vector<InstructionWork> decode_work(std::span<const unsigned char> code,
                                                       std::span<const std::uint8_t> lengths);

} // namespace recount::emulate
