// The blocks of the traced programs: what each executes and accesses.
#pragma once

#include "model/trace/protocol.h"
#include "model/trace/reader.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace recount::trace {

/// Blocks of all processes, by number. Not thread-safe.
class Blocks {
public:
  struct Block {
    std::uint32_t instruction = 0, instructions = 0; ///< index of the first, number
    std::uint32_t access = 0, loads = 0;             ///< index of the first access, number of loads
    std::uint32_t stretch = 0, stretches = 0;        ///< index of the first, number
  };
  /// Contiguous instructions of a block. A block that continues at the target of a jump has several
  /// stretches.
  struct Stretch {
    std::uint32_t first = 0, instructions = 0; ///< index of the first, number
  };
  struct Instruction {
    std::uint64_t address = 0;
    std::uint8_t bytes = 0;
    std::uint8_t flow = RT_PLAIN;       ///< RT_CONDITIONAL ...
    bool loads = false, stores = false; ///< in every execution
  };
  /// 2 * bytes, plus 1 for a load; `flush` and `prefetch` are none. `end` follows the accesses of a block;
  /// its size exceeds that of any line.
  using Access = std::uint32_t;
  static constexpr Access end = ~Access{0}, flush = 2 * RT_FLUSHED, prefetch = 2 * RT_PREFETCHED;
  [[nodiscard]] static constexpr bool hints(Access access) { return access == flush || access == prefetch; }
  [[nodiscard]] static constexpr bool loads(Access access) { return (access & 1) != 0; }
  [[nodiscard]] static constexpr unsigned bytes(Access access) { return access >> 1; }

  /// Adds the block of an RT_DEFINE record. False: the record is invalid.
  [[nodiscard]] bool define(std::span<const std::uint64_t> words);
  /// Null if the block is not defined.
  [[nodiscard]] const Block* find(std::uint64_t number) const {
    if (number / page_size >= pages_.size() || !pages_[number / page_size]) return nullptr;
    const std::uint32_t place = pages_[number / page_size]->places[number % page_size];
    return place > 0 ? &blocks_[place - 1] : nullptr;
  }
  /// Nobody executes the block any more: its storage is that of a later one. Numbers do not return.
  void forget(std::uint64_t number);
  /// All blocks, at places that later ones take over; those without instructions are forgotten.
  [[nodiscard]] std::span<const Block> defined() const { return blocks_; }
  /// Accesses of all blocks; valid until the next definition.
  [[nodiscard]] const Access* all() const { return accesses_.data(); }
  [[nodiscard]] const Instruction& instruction(std::uint32_t number) const { return instructions_[number]; }
  [[nodiscard]] const Stretch& stretch(std::uint32_t number) const { return stretches_[number]; }
  /// Index of the instruction of an access.
  [[nodiscard]] std::uint32_t instruction_of(std::uint32_t access) const { return owners_[access]; }
  [[nodiscard]] std::size_t instruction_count() const { return instructions_.size(); }

private:
  static constexpr std::size_t page_size = 4096;
  struct Page {
    std::array<std::uint32_t, page_size> places{}; ///< in blocks_, from 1 on; 0: not defined
    std::size_t defined = 0;
  };
  using Shape = std::array<std::uint32_t, 3>; ///< numbers of instructions, accesses and stretches
  [[nodiscard]] std::uint32_t& place_of(std::uint64_t number);
  std::uint32_t allocate(const Shape& shape);

  std::vector<std::unique_ptr<Page>> pages_;
  std::map<Shape, std::vector<std::uint32_t>> forgotten_; ///< places in blocks_
  std::vector<Block> blocks_;
  std::vector<Instruction> instructions_;
  std::vector<Stretch> stretches_;
  std::vector<Access> accesses_;
  std::vector<std::uint32_t> owners_; ///< parallel to accesses_
};

/// Executed instructions by kind. Valgrind executes each repetition of `rep movsb` and similar instructions
/// separately; here, they count as one instruction, and not among `loads` and `stores`.
struct ExecutedCounts {
  std::int64_t instructions = 0;
  std::int64_t loads = 0, stores = 0, transfers = 0; ///< instructions that read, write, or do either
  std::int64_t conditional = 0, taken = 0;           ///< conditional branches, taken ones
  std::int64_t unconditional = 0;                    ///< jumps, calls, returns
  std::int64_t system_calls = 0;
  ExecutedCounts& operator+=(const ExecutedCounts& more);
};

/// Counts the executed instructions of a process. Valgrind must end blocks at every branch
/// (ToolOptions::exact).
class Executed {
public:
  /// `at_entry`: start counting at the entry point of the program, or at main() if it is linked statically
  /// and has symbols; else at the start of the dynamic linker.
  Executed(const Blocks& blocks, bool at_entry) : blocks_(&blocks), entered_(!at_entry) {}

  void block(const Blocks::Block& block) {
    const Blocks::Instruction& first = blocks_->instruction(block.instruction);
    if (!entered_ && !enters(first.address)) return;
    if (block.instruction + block.instructions > counts_.size()) counts_.resize(blocks_->instruction_count());
    if (last_ != none) follow(first);
    ++counts_[block.instruction].begun;
    first_ = block.instruction;
    last_ = block.instruction + block.instructions - 1;
  }
  /// The execution of the block ended after this number of instructions, at a side exit.
  void left(unsigned instructions) {
    if (last_ == none) return;
    last_ = first_ + instructions - 1;
    ++counts_[last_].left;
  }
  /// Another thread or a signal handler executes the next block.
  void interrupt() { last_ = none; }
  void module(const Module& module);
  /// Whether counting has started, see the constructor.
  [[nodiscard]] bool entered() const { return entered_; }
  /// The counter for a forked child: no counts, the same state.
  [[nodiscard]] Executed forked() const;

  /// All counts, and those of the dynamic linker and of the code that Valgrind adds to each program.
  [[nodiscard]] ExecutedCounts all() const { return sum(false); }
  [[nodiscard]] ExecutedCounts environment() const { return sum(true); }

private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Count {               ///< of an instruction
    std::int64_t begun = 0;    ///< executions of the block that starts with it
    std::int64_t left = 0;     ///< executions of the block that ended after it, at a side exit
    std::int64_t taken = 0;    ///< of a conditional branch
    std::int64_t repeated = 0; ///< of RT_REPEATED: executions directly after itself
  };
  struct Range {
    std::uint64_t start, end;
  };
  bool enters(std::uint64_t address);
  void follow(const Blocks::Instruction& next) {
    const Blocks::Instruction& before = blocks_->instruction(last_);
    if (before.flow == RT_CONDITIONAL) counts_[last_].taken += next.address != before.address + before.bytes;
    if (before.flow == RT_REPEATED) counts_[last_].repeated += next.address == before.address;
  }
  [[nodiscard]] ExecutedCounts sum(bool environment) const;

  const Blocks* blocks_;
  bool entered_;
  std::vector<std::uint64_t> entries_; ///< entry points of the mapped programs
  std::vector<Range> environment_;
  std::uint32_t first_ = none, last_ = none; ///< executed instructions of the current block
  std::vector<Count> counts_;
};

} // namespace recount::trace
