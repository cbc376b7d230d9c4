// The blocks of this architecture, each with its counts: the rows of blocks_*.def, put into one frame.
#include "kernel/blocks/block.hpp"

#if defined(__x86_64__) || defined(__aarch64__)
namespace recount::kernel::native {

namespace {
namespace block_rows {

using namespace tallies;

// The frame of every row: load the arguments, run the row once per turn, decrement and branch, return. The
// last branch is not taken.
#ifdef __x86_64__
constexpr Tally frame_once = 2 * load + both(jump, load) + Tally{.taken = -1}; // ret loads
constexpr Tally frame_turn = integer + taken;
#define RECOUNT_ROWS "kernel/blocks/blocks_x86_64.def"
#define RECOUNT_FRAME(before, step, after)                                                                   \
  "mov (%rdi), %rcx; mov 8(%rdi), %rsi;" before ";"                                                          \
  "2: .rept 16; " step "; .endr; dec %rcx; jnz 2b;" after "; ret"
#elif defined(__aarch64__)
constexpr Tally frame_once = load + jump + Tally{.taken = -1};
constexpr Tally frame_turn = integer + taken;
#define RECOUNT_ROWS "kernel/blocks/blocks_aarch64.def"
#define RECOUNT_FRAME(before, step, after)                                                                   \
  "ldp x2, x1, [x0];" before ";"                                                                             \
  "2: .rept 16; " step "; .endr; subs x2, x2, #1; b.ne 2b;" after "; ret"
#endif

} // namespace block_rows
} // namespace

#define RECOUNT_SYMBOL(name) "recount_kernel_" #name
#define RECOUNT_BLOCK(name, feature, before, step, after, ...)                                                                               \
  asm(".text; .p2align 6; .globl " RECOUNT_SYMBOL(name) "; .type " RECOUNT_SYMBOL(                                                           \
      name) ", %function\n" RECOUNT_SYMBOL(name) ": .cfi_startproc\n" RECOUNT_FRAME(before, step,                                            \
                                                                                    after) "\n"                                              \
                                                                                           ".cfi_endproc; "                                  \
                                                                                           ".size"                                           \
                                                                                           " " RECOUNT_SYMBOL(name) ", . - " RECOUNT_SYMBOL( \
                                                                                               name) "\n");                                  \
  extern "C" void recount_kernel_##name(void* arguments);
#include RECOUNT_ROWS
#undef RECOUNT_BLOCK

namespace {
namespace block_rows {

#define RECOUNT_BLOCK(name, feature, before, step, after, step_tally, once)                                  \
  {#name, recount_kernel_##name, Feature::feature, step_tally, frame_turn, frame_once + (once)},
constexpr Block table[] = {
#include RECOUNT_ROWS
};
#undef RECOUNT_BLOCK
#undef RECOUNT_SYMBOL
#undef RECOUNT_FRAME
#undef RECOUNT_ROWS

} // namespace block_rows
} // namespace

std::span<const Block> blocks() noexcept {
  return block_rows::table;
}

std::string_view architecture() noexcept {
#ifdef __x86_64__
  return "x86-64";
#else
  return "aarch64";
#endif
}

} // namespace recount::kernel::native

#else
std::span<const recount::kernel::native::Block> recount::kernel::native::blocks() noexcept {
  return {};
}
std::string_view recount::kernel::native::architecture() noexcept {
  return "this architecture";
}
#endif
