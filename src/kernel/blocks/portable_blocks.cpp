// The blocks of architectures without assembly: loads, stores and operations per step follow from the
// source, instruction counts from the disassembly.
#include "kernel/blocks/block.hpp"

#include <algorithm>

namespace recount::kernel::native {

#define RECOUNT_PORTABLE(X)                                                                                  \
  X(integer_add, tallies::integer)                                                                           \
  X(integer_multiply, tallies::integer)                                                                      \
  X(transfer_load, tallies::load)                                                                            \
  X(transfer_store, tallies::store)                                                                          \
  X(transfer_copy, tallies::load + tallies::store)                                                           \
  X(sync_fence, tallies::fence)                                                                              \
  X(scatter_load, 3 * tallies::integer + tallies::load)                                                      \
  X(scatter_store, 3 * tallies::integer + tallies::store)                                                    \
  X(float_add_f64_scalar, tallies::floating(&Tally::adds, 64, 1))                                            \
  X(float_multiply_f64_scalar, tallies::floating(&Tally::multiplies, 64, 1))                                 \
  X(float_divide_f64_scalar, tallies::floating(&Tally::divides, 64, 1))                                      \
  X(float_add_f32_scalar, tallies::floating(&Tally::adds, 32, 1))                                            \
  X(float_multiply_f32_scalar, tallies::floating(&Tally::multiplies, 32, 1))                                 \
  X(float_divide_f32_scalar, tallies::floating(&Tally::divides, 32, 1))

#define RECOUNT_DECLARE(name, step) extern "C" void recount_kernel_##name(void* context);
RECOUNT_PORTABLE(RECOUNT_DECLARE)
#undef RECOUNT_DECLARE

namespace {

/// What portable_counts.py read.
struct PortableCount {
  std::string_view name;
  int turn, once; ///< instructions of a turn of the loop, and outside it
};
constexpr PortableCount portable_counts[] = {
#include "portable_counts.inc"
};

Block portable_block(std::string_view name, void (*code)(void*), const Tally& step) {
  const auto& read = *std::ranges::find(portable_counts, name, &PortableCount::name);
  Tally turn{.instructions = read.turn - steps_a_turn * step.instructions, .conditional = 1, .taken = 1};
  return {name, code, Feature::none,
          step, turn, {.instructions = static_cast<double>(read.once), .taken = -1, .unconditional = 1}};
}

} // namespace

std::span<const Block> blocks() noexcept {
#define RECOUNT_ROW(name, step) portable_block(#name, recount_kernel_##name, step),
  static const Block table[] = {RECOUNT_PORTABLE(RECOUNT_ROW)};
#undef RECOUNT_ROW
#undef RECOUNT_PORTABLE
  return table;
}

std::string_view architecture() noexcept {
  return "portable C++";
}

} // namespace recount::kernel::native
