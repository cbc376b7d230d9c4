// Generated machine code: jumps between lines, for kernels that miss instruction caches.
#pragma once

#include "kernel/kernel.hpp"
#include "kernel/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace recount::kernel {

// A point of `code`, checked, and what it must count.
struct CodePoint {
  std::int64_t size = 0, stride = 64, passes = 1; ///< bytes of code, from block to block; times through all
  bool full = false;                              ///< blocks fill their lines
  std::int64_t seed = 1;
  std::int64_t l1i = 0, l2 = 0, l3 = 0; ///< cache capacities for closed forms in bytes, 0: unknown
  [[nodiscard]] std::int64_t blocks() const { return size / stride; }
  [[nodiscard]] std::int64_t accesses() const { return blocks() * passes; }
  [[nodiscard]] std::int64_t bytes() const; ///< of memory
};

[[nodiscard]] std::vector<Parameter> code_parameters();
/// Completes and checks. Throws recount::Error (bad_input).
[[nodiscard]] CodePoint code_point(const Kernel& kernel, const result::Params& given);
/// Closed forms, where this architecture has code made for it.
[[nodiscard]] std::vector<Expectation> code_presets(const CodePoint& at);

inline constexpr std::int64_t code_line = 64; ///< bytes of a block of code

/// Whether code can be generated for this architecture.
[[nodiscard]] bool can_emit();

/// Writes into `code` a function of the type of Region::code: it reads the number of passes (int64_t, at
/// least 1) that its argument points at, then as often executes the blocks in the order of `places` (bytes
/// from the start of `code`, each at least code_line, apart by as much) and returns. A block is one jump, the
/// last of a full line when `full`: then nops come before it.
void emit_jumps(std::span<std::byte> code, std::span<const std::uint64_t> places, bool full);

/// What one pass over `blocks` blocks executes, and the call besides: the whole is passes * pass + besides.
struct EmittedTally {
  Tally pass, besides;
};
[[nodiscard]] EmittedTally emitted(double blocks, bool full);

} // namespace recount::kernel
