// Blocks: hand-counted loops of assembly. A turn of the loop holds sixteen equal steps.
#pragma once

#include "kernel/feature.hpp"
#include "kernel/tally.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace recount::kernel::native {

/// What a block is called with. The assembly knows this layout.
struct Turns {
  std::int64_t turns = 1; ///< at least 1
  void* data = nullptr;   ///< as specified by Data
  std::int64_t mask = 0;  ///< bytes of the data less one, a power of two less one (blocks that scatter)
  std::int64_t hop = 0;   ///< increment of the offset in bytes (blocks that scatter)
};
inline constexpr int steps_a_turn = 16;

/// Numbers for floating-point blocks: 1 in every element of a 64-byte vector.
inline constexpr int ones_f64 = 0, ones_f32 = 64, ones_f16 = 128, ones_bytes = 192;

struct Block {
  std::string_view name; ///< "float_add_f64_scalar"
  void (*code)(void* turns) = nullptr;
  Feature feature = Feature::none; ///< of the processor, without which the code crashes
  Tally step;                      ///< counts of one step
  Tally turn;                      ///< of the loop overhead per turn, branch taken
  Tally besides;                   ///< of code executed once, including the return
  /// What a call executes. The last turn's branch is not taken.
  [[nodiscard]] constexpr Tally tally(double turns) const {
    return turns * (steps_a_turn * step + turn) + besides;
  }
};

/// Every block that this architecture has.
[[nodiscard]] std::span<const Block> blocks() noexcept;
/// "x86-64" or "aarch64"; others have no blocks.
[[nodiscard]] std::string_view architecture() noexcept;
/// Throws recount::Error (bad_input), naming `subject`, where this architecture does not have it.
[[nodiscard]] const Block& find_block(std::string_view name, const std::string& subject);

} // namespace recount::kernel::native
