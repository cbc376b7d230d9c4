// The blocks of the traced programs: what each executes and accesses.
#pragma once

#include "trace/protocol.h"

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
  /// Number of the instruction that makes an access.
  [[nodiscard]] std::uint32_t instruction_of(std::uint32_t access) const { return owners_[access]; }
  [[nodiscard]] std::size_t instruction_count() const { return instructions_.size(); }

private:
  std::vector<Block> blocks_;
  std::vector<Instruction> instructions_;
  std::vector<Access> accesses_;
  std::vector<std::uint32_t> owners_; ///< parallel to accesses_
};

} // namespace recount::trace
