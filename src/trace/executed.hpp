// The blocks of the traced programs: what each executes and accesses.
#pragma once

#include "trace/protocol.h"
#include "trace/reader.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace recount::trace {

/// Blocks of all processes, by number. Not thread-safe.
class Blocks {
public:
  struct Block {
    std::uint32_t instruction = 0, instructions = 0; ///< first and number of
    std::uint32_t access = 0, loads = 0;             ///< first of its accesses, number of those that load
    std::uint32_t stretch = 0, stretches = 0;        ///< first and number of
  };
  /// Instructions of a block without a gap between them. One that goes on behind a jump has several.
  struct Stretch {
    std::uint32_t first = 0, instructions = 0; ///< number of the first one, and of all
  };
  struct Instruction {
    std::uint64_t address = 0;
    std::uint8_t bytes = 0;
    std::uint8_t flow = RT_PLAIN;       ///< RT_CONDITIONAL ...
    bool loads = false, stores = false; ///< whenever it is executed
  };
  /// Of an access: 2 * its bytes, 1 more where it loads. `end` is after those of a block: more bytes than a
  /// line has.
  using Access = std::uint32_t;
  static constexpr Access end = ~Access{0};
  [[nodiscard]] static constexpr bool loads(Access access) { return (access & 1) != 0; }
  [[nodiscard]] static constexpr unsigned bytes(Access access) { return access >> 1; }

  /// RT_DEFINE. False: the words are damaged.
  [[nodiscard]] bool define(std::span<const std::uint64_t> words);
  /// Null: not defined.
  [[nodiscard]] const Block* find(std::uint64_t number) const {
    return number < blocks_.size() && blocks_[number].instructions > 0 ? &blocks_[number] : nullptr;
  }
  /// Every block that is defined.
  [[nodiscard]] std::span<const Block> defined() const { return blocks_; }
  /// Accesses of all blocks; valid until the next definition.
  [[nodiscard]] const Access* all() const { return accesses_.data(); }
  [[nodiscard]] const Instruction& instruction(std::uint32_t number) const { return instructions_[number]; }
  [[nodiscard]] const Stretch& stretch(std::uint32_t number) const { return stretches_[number]; }
  /// Number of the instruction that makes an access.
  [[nodiscard]] std::uint32_t instruction_of(std::uint32_t access) const { return owners_[access]; }
  [[nodiscard]] std::size_t instruction_count() const { return instructions_.size(); }

private:
  std::vector<Block> blocks_;
  std::vector<Instruction> instructions_;
  std::vector<Stretch> stretches_;
  std::vector<Access> accesses_;
  std::vector<std::uint32_t> owners_; ///< parallel to accesses_
};

// How often each instruction of a process was executed, by kind.

/// Executions of instructions. Each repetition of `rep movsb` and its like is one execution of Valgrind's;
/// these count as one instruction here, and what they access is not among `loads` and `stores`.
struct ExecutedCounts {
  std::int64_t instructions = 0;
  std::int64_t loads = 0, stores = 0, transfers = 0; ///< instructions that read, write, do either
  std::int64_t conditional = 0, taken = 0;           ///< conditional branches, and of those the taken ones
  std::int64_t unconditional = 0;                    ///< jumps, calls, returns
  std::int64_t system_calls = 0;
  ExecutedCounts& operator+=(const ExecutedCounts& more);
};

/// Of one process. Valgrind must end blocks at every branch
/// (ToolOptions::exact).
class Executed {
public:
  /// `at_entry`: counts from the entry point of the program on, or from its main() if it is linked statically
  /// and has symbols; else from its start in the dynamic linker.
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
  void left(unsigned instructions) {
    if (last_ == none) return;
    last_ = first_ + instructions - 1;
    ++counts_[last_].left;
  }
  /// Another thread continues, or a signal handler.
  void interrupt() { last_ = none; }
  void module(const Module& module);
  /// Whether the program has begun: before, the dynamic linker runs.
  [[nodiscard]] bool entered() const { return entered_; }
  /// That of a forked child.
  [[nodiscard]] Executed forked() const;

  /// Of all, and of the dynamic linker and what Valgrind adds to each program.
  [[nodiscard]] ExecutedCounts all() const { return sum(false); }
  [[nodiscard]] ExecutedCounts environment() const { return sum(true); }

private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Count {               ///< of an instruction
    std::int64_t begun = 0;    ///< blocks that begin with it
    std::int64_t left = 0;     ///< executions of its block that ended after it, at a side exit
    std::int64_t taken = 0;    ///< of a conditional branch
    std::int64_t repeated = 0; ///< executions directly after itself, of RT_REPEATED
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
  std::vector<std::uint64_t> entries_; ///< of the programs that are mapped
  std::vector<Range> environment_;
  std::uint32_t first_ = none, last_ = none; ///< instructions of the execution under way, executed so far
  std::vector<Count> counts_;
};

} // namespace recount::trace
