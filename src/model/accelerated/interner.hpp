// Gives equal sequences of words the same number.
#pragma once

#include "model/accelerated/arena.hpp"

#include <algorithm>
#include <bit>
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
      std::uint64_t& found = slots_.data()[at];
      if (found == 0) {
        std::uint64_t* const entry = arena_.take(words.size() + 2);
        entry[0] = std::uint64_t{size()} << 32 | words.size();
        entry[1] = 0;
        std::ranges::copy(words, entry + 2);
        all_.push_back(entry);
        found = slot(entry, hash);
        return Entry(entry);
      }
      if ((found ^ hash) >> kept_shift != 0) continue;
      const Entry there(std::bit_cast<std::uint64_t*>(found << address_shift & address_mask));
      if (std::ranges::equal(there.words(), words)) return there;
    }
  }
  [[nodiscard]] Entry operator[](std::uint32_t number) const { return Entry(all_[number]); }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  [[nodiscard]] std::size_t bytes() const {
    return arena_.bytes() + all_.capacity() * sizeof(all_[0]) + slots_.size() * sizeof(std::uint64_t);
  }
  void clear() { *this = {}; }

private:
  /// A slot holds an entry's address, a multiple of 8 below 2^51, and the highest bits of its hash; 0: none.
  static constexpr unsigned address_shift = 3, kept_shift = 48;
  static constexpr std::uint64_t address_mask = (std::uint64_t{1} << (kept_shift + address_shift)) - 1;
  static std::uint64_t slot(const std::uint64_t* entry, std::uint64_t hash) {
    return std::bit_cast<std::uint64_t>(entry) >> address_shift | hash >> kept_shift << kept_shift;
  }

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
    slots_ = WordBlock(std::max<std::size_t>(64, 2 * slots_.size()));
    std::fill_n(slots_.data(), slots_.size(), 0);
    for (const std::uint64_t* const entry : all_) {
      const std::uint64_t hash = mix({entry + 2, static_cast<std::uint32_t>(entry[0])});
      std::size_t at = hash & mask();
      while (slots_.data()[at] != 0)
        at = (at + 1) & mask();
      slots_.data()[at] = slot(entry, hash);
    }
  }

  Arena arena_;
  std::vector<std::uint64_t*> all_;
  WordBlock slots_;
};

} // namespace recount::model
