// Gives equal sequences of words the same number.
#pragma once

#include "model/accelerated/arena.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recount::model {

/// A set of word sequences, numbered from 0 as they come; each has a word of its owner's beside it. Sequences
/// are compared whole, and stay where they are until all are let go. Not thread-safe.
class Interner {
public:
  using Words = std::span<const std::uint64_t>;
  class Entry {
  public:
    [[nodiscard]] std::uint32_t number() const { return static_cast<std::uint32_t>(at_[0] >> 32); }
    [[nodiscard]] Words words() const { return {at_ + 2, static_cast<std::uint32_t>(at_[0])}; }
    /// The owner's word, 0 at first.
    [[nodiscard]] std::uint64_t& aside() const { return at_[1]; }

  private:
    friend class Interner;
    explicit Entry(std::uint64_t* at) : at_(at) {}
    std::uint64_t* at_; ///< number and size, aside, the words
  };

  /// The entry of `words`, taken in if they are new.
  Entry put(Words words) {
    if (2 * (size() + 1) > slots_.size()) grow();
    const std::uint64_t hash = mix(words);
    for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
      Slot& slot = slots_[at];
      if (slot.at == nullptr) {
        slot = {arena_.take(words.size() + 2), hash};
        slot.at[0] = std::uint64_t{size()} << 32 | words.size();
        slot.at[1] = 0;
        std::ranges::copy(words, slot.at + 2);
        all_.push_back(slot.at);
        return Entry(slot.at);
      }
      if (slot.hash == hash && std::ranges::equal(Entry(slot.at).words(), words)) return Entry(slot.at);
    }
  }
  [[nodiscard]] Entry operator[](std::uint32_t number) const { return Entry(all_[number]); }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] std::size_t bytes() const {
    return arena_.bytes() + all_.capacity() * sizeof(all_[0]) + slots_.capacity() * sizeof(Slot);
  }
  void clear() { *this = {}; }

private:
  struct Slot {
    std::uint64_t* at = nullptr;
    std::uint64_t hash = 0;
  };

  [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
  static std::uint64_t mix(Words words) {
    std::uint64_t hash = words.size();
    for (const std::uint64_t word : words) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
    hash *= 0xbf58476d1ce4e5b9u;
    return hash ^ hash >> 32;
  }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.at == nullptr) continue;
      std::size_t at = slot.hash & mask();
      while (slots_[at].at != nullptr)
        at = (at + 1) & mask();
      slots_[at] = slot;
    }
  }

  Arena arena_;
  std::vector<std::uint64_t*> all_;
  std::vector<Slot> slots_;
};

} // namespace recount::model
