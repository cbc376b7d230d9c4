// From pairs of numbers to pairs of numbers.
#pragma once

#include "model/accelerated/arena.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace recount::model {

/// A map whose keys lie in its slots: to find one takes one access to memory, which prefetch() may begin long
/// before. Not thread-safe.
class PairTable {
public:
  struct Pair {
    std::uint32_t one = 0, other = 0; ///< not both 2^32 - 1
    bool operator==(const Pair&) const = default;
  };

  void prefetch(Pair key) const {
    if (size_ > 0) __builtin_prefetch(slots_.data() + 2 * (hash(key) & mask()));
  }
  /// Null when it is not there; valid until the next put().
  [[nodiscard]] const Pair* find(Pair key) const {
    if (size_ == 0) return nullptr;
    const Pair* const slot = place(key);
    return *slot == none ? nullptr : slot + 1;
  }
  void put(Pair key, Pair value) {
    if (4 * (size_ + 1) > slots_.size()) grow();
    Pair* const slot = place(key);
    if (*slot == none) ++size_;
    slot[0] = key;
    slot[1] = value;
  }
  [[nodiscard]] std::size_t bytes() const { return slots_.size() * sizeof(Pair); }
  void clear() { *this = {}; }

private:
  static constexpr Pair none{~std::uint32_t{0}, ~std::uint32_t{0}};

  /// Keys and values by turns: a pair in a word.
  [[nodiscard]] Pair* slots() const { return reinterpret_cast<Pair*>(slots_.data()); } // NOLINT
  [[nodiscard]] std::size_t mask() const { return slots_.size() / 2 - 1; }
  static std::size_t hash(Pair key) {
    std::uint64_t x = (std::uint64_t{key.one} << 32 | key.other) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 32) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 29;
  }
  [[nodiscard]] Pair* place(Pair key) const {
    std::size_t at = hash(key) & mask();
    while (slots()[2 * at] != key && slots()[2 * at] != none)
      at = (at + 1) & mask();
    return slots() + 2 * at;
  }
  void grow() {
    WordBlock old(std::max<std::size_t>(1024, 2 * slots_.size()));
    std::swap(old, slots_);
    std::fill_n(slots(), slots_.size(), none);
    const auto* const before = reinterpret_cast<const Pair*>(old.data()); // NOLINT
    for (std::size_t i = 0; i < old.size(); i += 2)
      if (before[i] != none) std::copy_n(before + i, 2, place(before[i]));
  }

  WordBlock slots_;
  std::size_t size_ = 0;
};

} // namespace recount::model
