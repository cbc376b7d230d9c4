// Kernels made of blocks: a family of hand-counted loops that differ by an operation, a pattern, a width.
#pragma once

#include "kernel/blocks/block.hpp"
#include "kernel/point.hpp"
#include "kernel/tally.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace recount::kernel {

/// What a block's data pointer points at.
enum class Data {
  line,  ///< some lines of memory, zeros
  ones,  ///< 1 in every floating-point format, see native::ones_f64
  coins, ///< one byte per step, half of them zeros, in the order that the pattern says: "random" or every
         ///< other
  biased ///< one byte per step, seven in eight of them zeros, in random order
};

/// Counts that are not sums of instructions, for one block of a family.
struct Bound {
  std::string values; ///< the choices, as in the block's name: "multiply"
  std::vector<std::string> presets;
  double least = 0, most = 0; ///< occurrences per step
  std::string form;
};

/// The rows that make a family.
struct Family {
  std::string name, prose;
  std::vector<Parameter> choices; ///< their values, joined by '_', name the block: "float_add_f64_scalar"
  Data data = Data::line;
  std::map<std::string, std::string> aliases = {}; ///< block of a name that has none of its own
  std::vector<Bound> bounds = {};
  std::int64_t turns = 1000; ///< default
};

/// One family as a kernel; `turns` is added to its parameters.
class BlockKernel : public BasicKernel {
public:
  explicit BlockKernel(const Family& family);
  [[nodiscard]] std::int64_t bytes(const Params& point) const override;
  [[nodiscard]] std::unique_ptr<Instance> prepare(const Params& point) const override;
  [[nodiscard]] std::vector<Expectation> expected(const Params& point) const override;

private:
  struct At;
  [[nodiscard]] At at(const Params& point) const;
  Family family_;
};

/// Every family, in the order of recount-kernels(7).
[[nodiscard]] std::span<const Family> families();

/// Bytes of data of a block with this many turns.
[[nodiscard]] std::int64_t data_bytes(Data data, std::int64_t turns);
/// Fills them; `random`: in a fixed pseudo-random order.
void lay_out(Data data, bool random, std::span<std::byte> memory);

/// Expected predictions and mispredictions of a tally's branches; `rare`: share of the rarer direction of
/// random ones, one per step.
[[nodiscard]] std::vector<Expectation> predicted(const Tally& tally, double rare, double steps);

// Generated machine code: jumps between lines, for kernels that miss instruction caches.

inline constexpr std::int64_t code_line = 64; ///< bytes of a block of code

/// Bytes of the frame before the first block: the first are the entry, the last are executed after each pass.
inline constexpr std::int64_t code_entry = 8, code_tail = 8;

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
