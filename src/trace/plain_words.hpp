// The words of blocks and accesses alone, where every access is simulated.
#pragma once

#include "trace/blocks.hpp"
#include "trace/protocol.h"

#include <cstdint>

namespace recount::trace {

struct PlainCounts {
  std::int64_t instructions = 0, accesses = 0, stores = 0;
};

/// Hands `put` each access, its address, bytes and whether it stores, and leaves `at` at the first
/// other word. False: damaged.
template <class Put>
[[gnu::always_inline]] inline bool take_plain(const Blocks& blocks, const std::uint64_t*& at,
                                              const std::uint64_t* const end, PlainCounts& counts,
                                              Put&& put) {
  static constexpr Blocks::Access none = 0;
  const Blocks::Access* access = &none;
  const Blocks::Access* const all = blocks.all();
  const std::uint64_t* next = at; // these in registers
  std::int64_t instructions = 0, stores = 0, of_block = 0, others = 0;
  for (; next != end; ++next) {
    const std::uint64_t word = *next;
    if (word < RT_CONTROL) [[likely]] {
      const Blocks::Access what = *access++;
      if (what == 0) return false;
      const std::uint32_t store = what / Blocks::store;
      stores += store;
      put(word, what & Blocks::bytes, store != 0);
      continue;
    }
    if (RT_KIND(word) == RT_BLOCK) {
      const Blocks::Block* const block = blocks.find(RT_PAYLOAD(word));
      if (!block) return false;
      access = all + block->access;
      of_block = block->instructions;
      instructions += of_block;
    } else if (RT_KIND(word) == RT_EXIT) {
      const auto left = static_cast<std::int64_t>(RT_LENGTH(word));
      if (left == 0 || left > of_block) return false;
      instructions += left - of_block;
    } else if (RT_KIND(word) == RT_SKIPPED) {
      if (*access++ == 0) return false;
    } else {
      break;
    }
    ++others;
  }
  counts.instructions += instructions;
  counts.accesses += next - at - others;
  counts.stores += stores;
  at = next;
  return true;
}

} // namespace recount::trace
