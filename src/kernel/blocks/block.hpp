// Blocks: loops of assembly whose instructions are counted by hand. A turn is one iteration of the loop:
// sixteen equal steps.
#pragma once

#include "kernel/native.hpp"
#include "kernel/tally.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace recount::kernel::native {

/// The argument of a block. The assembly reads this layout.
struct BlockArguments {
  std::int64_t turns = 1;     ///< iterations, at least 1
  void* data = nullptr;       ///< as specified by Data
  std::int64_t mask = 0;      ///< of the offset into the data: 2^k - 1 bytes (blocks that scatter)
  std::int64_t increment = 0; ///< of the offset per step, in bytes (blocks that scatter)
};
inline constexpr int steps_per_turn = 16;

/// Offsets in the data of floating-point blocks: a 64-byte vector of ones for each type of element.
inline constexpr int ones_f64 = 0, ones_f32 = 64, ones_f16 = 128, ones_bytes = 192;

struct Block {
  std::string_view name; ///< "float_add_f64_scalar"
  void (*code)(void* arguments) = nullptr;
  Feature feature = Feature::none; ///< of the processor, required by the code
  Tally step;                      ///< counts of one step
  Tally turn;                      ///< of the loop overhead per turn, branch taken
  Tally once;                      ///< of entry and return; corrects for the last branch, which is not taken
  /// Counts of one call.
  [[nodiscard]] constexpr Tally tally(double turns) const {
    return turns * (steps_per_turn * step + turn) + once;
  }
};

/// All blocks of this architecture.
[[nodiscard]] std::span<const Block> blocks() noexcept;
/// "x86-64" or "aarch64"; others have no blocks.
[[nodiscard]] std::string_view architecture() noexcept;
/// Throws recount::Error (bad_input) with this subject if the architecture has no such block.
[[nodiscard]] const Block& find_block(std::string_view name, const std::string& subject);

} // namespace recount::kernel::native
