// The words of blocks and accesses alone, where every access is simulated.
#pragma once

#include "trace/blocks.hpp"
#include "trace/protocol.h"

#include <cstdint>

namespace recount::trace {

struct PlainCounts {
  std::int64_t instructions = 0, accesses = 0, loads = 0;
};

/// Hands `put` the address of each access and its Blocks::Access, and leaves `at` at the first other word.
/// False: damaged. What `put` refuses, because it does not lie within a line, goes to `split`.
template <class Put, class Split>
[[gnu::always_inline]] inline bool take_plain(const Blocks& blocks, const std::uint64_t*& at,
                                              const std::uint64_t* const end, PlainCounts& counts, Put&& put,
                                              Split&& split) {
  constexpr int ahead = 64;
  static constexpr Blocks::Access none = Blocks::end;
  const Blocks::Access* access = &none;
  const Blocks::Access* const all = blocks.all();
  const std::uint64_t* next = at; // these in registers
  std::int64_t instructions = 0, loads = 0, of_block = 0, others = 0;
  const auto not_made = [&loads](const Blocks::Access* rest) { // `loads` holds those of whole blocks
    for (; *rest != Blocks::end; ++rest)
      loads -= Blocks::loads(*rest);
  };
  for (; next != end; ++next) {
    const std::uint64_t word = *next;
    if (word < RT_CONTROL) [[likely]] {
      const Blocks::Access what = *access++;
      if (!put(word, what)) [[unlikely]] {
        if (what == Blocks::end) return false;
        split(word, what);
      }
      continue;
    }
    if (RT_KIND(word) == RT_BLOCK) [[likely]] {
      const Blocks::Block* const block = blocks.find(RT_PAYLOAD(word));
      if (!block) return false;
      __builtin_prefetch(next + ahead); // processors do not fetch beyond a page of their own accord
      not_made(access);
      access = all + block->access;
      of_block = block->instructions;
      instructions += of_block;
      loads += block->loads;
    } else if (RT_KIND(word) == RT_EXIT) {
      const auto left = static_cast<std::int64_t>(RT_LENGTH(word));
      if (left == 0 || left > of_block) return false;
      instructions += left - of_block;
    } else if (RT_KIND(word) == RT_SKIPPED) {
      if (*access == Blocks::end) return false;
      loads -= Blocks::loads(*access++);
    } else {
      break;
    }
    ++others;
  }
  not_made(access);
  counts.instructions += instructions;
  counts.accesses += next - at - others;
  counts.loads += loads;
  at = next;
  return true;
}

} // namespace recount::trace
