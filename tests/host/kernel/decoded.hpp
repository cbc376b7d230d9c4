// One x86-64 instruction as a tally, by the Zydis decoder.
#pragma once

#include "kernel/tally.hpp"

struct Decoded {
  recount::kernel::Tally tally; ///< conditional branches as if not taken
  int condition = -1;           ///< of a conditional branch, as the instruction encodes it
};

/// Throws std::runtime_error for what is no instruction.
[[nodiscard]] Decoded decode(const unsigned char* code);
/// Whether a condition holds with these flags (Intel SDM, volume 1, appendix B).
[[nodiscard]] bool holds(int condition, unsigned long flags);
