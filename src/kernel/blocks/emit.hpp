// Generated machine code: jumps between lines, for kernels that miss instruction caches.
#pragma once

#include "kernel/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace recount::kernel {

inline constexpr std::int64_t code_line = 64; ///< bytes of a block of code

/// Bytes of the frame before the first block: the first are the entry, the last are executed after each pass.
inline constexpr std::int64_t code_entry = 8, code_tail = 8;

/// Whether code can be generated for this architecture.
[[nodiscard]] bool can_emit();

/// Writes into `code` a function of the type of Region::code: it reads the number of passes (int64_t, at
/// least 1) that its argument points at, then as often executes the blocks in the order of `places` (bytes
/// from the start of `code`, each at least code_line, apart by as much) and returns. A block is one jump, the
/// last of a full line when `full`: then nops come before it.
void emit_jumps(std::span<std::byte> code, std::span<const std::uint64_t> places, bool full);

/// Counts of one pass over `blocks` blocks, and of entry and return: a call counts passes * pass + once.
struct EmittedTally {
  Tally pass, once;
};
[[nodiscard]] EmittedTally emitted(double blocks, bool full);

} // namespace recount::kernel
