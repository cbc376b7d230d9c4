#include "trace/blocks.hpp"

#include "trace/protocol.h"

namespace recount::trace {

bool Blocks::define(std::span<const std::uint64_t> words) {
  constexpr std::uint64_t most_blocks = 1 << 26;
  if (words.size() < 2 || words[0] >= most_blocks) return false;
  const std::uint64_t instructions = words[1] & 0xffffffff, accesses = words[1] >> 32;
  if (instructions == 0 || instructions + accesses + 2 != words.size()) return false;
  if (words[0] >= blocks_.size()) blocks_.resize(words[0] + 1);
  Block& block = blocks_[words[0]];
  block.instruction = static_cast<std::uint32_t>(instructions_.size());
  block.instructions = static_cast<std::uint32_t>(instructions);
  block.access = static_cast<std::uint32_t>(accesses_.size());
  block.accesses = static_cast<std::uint32_t>(accesses);
  for (const std::uint64_t word : words.subspan(2, instructions))
    instructions_.push_back({RT_PAYLOAD(word), static_cast<unsigned>(word >> 56)});
  for (const std::uint64_t word : words.subspan(2 + instructions)) {
    const std::uint64_t owner = word >> 32;
    if (owner >= instructions || (word & bytes) == 0) return false;
    accesses_.push_back(static_cast<Access>(word & (store | bytes)));
    owners_.push_back(block.instruction + static_cast<std::uint32_t>(owner));
  }
  accesses_.push_back(0);
  owners_.push_back(block.instruction);
  return true;
}

} // namespace recount::trace
