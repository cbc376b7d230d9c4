#include "trace/code_blocks.hpp"

#include "trace/protocol.h"

#include <algorithm>

namespace recount::trace {

namespace {

/// Of the tool's words, see RT_ACCESS.
constexpr std::uint64_t word_stores = 1u << 16, word_bytes = word_stores - 1, word_guarded = 1u << 17;

} // namespace

// Nothing is taken over from damaged words: other processes execute blocks, too.
bool Blocks::define(std::span<const std::uint64_t> words) {
  constexpr std::uint64_t most_blocks = 1 << 24;
  if (words.size() < 2 || words[0] >= most_blocks) return false;
  const std::uint64_t instructions = words[1] & 0xffffffff, accesses = words[1] >> 32;
  if (instructions == 0 || instructions + accesses + 2 != words.size()) return false;
  const auto its_accesses = words.subspan(2 + instructions);
  const auto wrong = [&](std::uint64_t word) {
    return word >> 32 >= instructions || (word & word_bytes) == 0;
  };
  if (std::ranges::any_of(its_accesses, wrong)) return false;
  if (words[0] >= blocks_.size()) blocks_.resize(words[0] + 1);
  Block& block = blocks_[words[0]];
  block.instruction = static_cast<std::uint32_t>(instructions_.size());
  block.instructions = static_cast<std::uint32_t>(instructions);
  block.access = static_cast<std::uint32_t>(accesses_.size());
  block.loads = 0;
  for (const std::uint64_t word : words.subspan(2, instructions))
    instructions_.push_back({RT_PAYLOAD(word), static_cast<std::uint8_t>(word >> 56 & 15),
                             static_cast<std::uint8_t>(word >> 60)});
  for (const std::uint64_t word : its_accesses) {
    const bool stores = (word & word_stores) != 0;
    accesses_.push_back(static_cast<Access>((word & word_bytes) << 1 | (stores ? 0 : 1)));
    block.loads += stores ? 0 : 1;
    owners_.push_back(block.instruction + static_cast<std::uint32_t>(word >> 32));
    Instruction& owner = instructions_[owners_.back()];
    if ((word & word_guarded) == 0) (stores ? owner.stores : owner.loads) = true;
  }
  accesses_.push_back(end);
  owners_.push_back(block.instruction);
  return true;
}

} // namespace recount::trace
