// Sets of up to 16 ordered places, quick to look up and to reorder.
#pragma once

#include "model/set_index.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recount::model {

/// Sets that keep their entries in an order (of use, of arrival): newest first, empty places last. Entries
/// stay where they are; the order is a word of 4-bit numbers of places, the first in the lowest bits. A byte
/// of each line is kept beside, so that a look compares all places at once and then, exactly, the one or two
/// that agree. An entry is 2 * line + dirty. Not thread-safe.
class PackedSets {
public:
  using Entry = std::uint64_t;
  static constexpr Entry empty = ~Entry{0};
  static constexpr std::size_t most_ways = 16;

  PackedSets(const SetIndex& index, std::size_t ways)
      : ways_(ways),
        tags_(ways > 8 ? 2 : 1),
        stride_(tags_ + 1 + ways),
        index_(index),
        last_shift_(static_cast<unsigned>(4 * (ways - 1))),
        words_(index.sets() * stride_) {
    clear();
  }

  /// Looks a line up and marks it dirty if asked to; with `first`, moves it to the front.
  [[gnu::always_inline]] bool use(std::uint64_t line, bool dirty, bool first) {
    std::uint64_t* const set = set_of(line);
    return ways_ == 8 ? use_in<8>(set, line, dirty, first) : use_in<0>(set, line, dirty, first); // 8: most
  }
  /// use() of 8 ways, with `first`, where the set is the lowest bits of the line.
  [[gnu::always_inline]] bool use_eight(std::uint64_t line, bool dirty) {
    return use_in<8>(words_.data() + (line & index_.mask()) * (2 + 8), line, dirty, true);
  }
  /// Takes in a line that is not there, at the front; returns the evicted entry, or `empty`.
  Entry insert(std::uint64_t line, bool dirty) {
    std::uint64_t* const set = set_of(line);
    const std::uint64_t order = set[tags_], place = order >> last_shift_ & 15;
    set[tags_] = order << 4 | place;
    set_tag(set, place, tag_of(line));
    Entry& entry = entries(set)[place];
    const Entry leaves = entry;
    entry = line << 1 | Entry{dirty};
    return leaves;
  }
  /// Takes a line out; returns its entry, or `empty` when it was not there.
  Entry remove(std::uint64_t line);
  [[nodiscard]] bool holds(std::uint64_t line) const {
    const std::uint64_t* const set = words_.data() + index_(line) * stride_;
    return find(set, line) < ways_;
  }

  /// One set's entries in order.
  void read(std::uint64_t set, std::span<Entry> out) const;
  void write(std::uint64_t set, std::span<const Entry> in);
  void clear();

private:
  static constexpr std::uint64_t bytes = 0x0101010101010101, nibbles = 0x1111111111111111;

  static std::uint64_t tag_of(std::uint64_t line) { return line * 0x9e3779b97f4a7c15 >> 56; }
  [[nodiscard]] std::uint64_t* set_of(std::uint64_t line) { return words_.data() + index_(line) * stride_; }
  [[nodiscard]] Entry* entries(std::uint64_t* set) const { return set + tags_ + 1; }
  [[nodiscard]] const Entry* entries(const std::uint64_t* set) const { return set + tags_ + 1; }

  /// With so many ways; 0: whatever there are.
  template <std::size_t fixed>
  [[gnu::always_inline]] bool use_in(std::uint64_t* set, std::uint64_t line, bool dirty, bool first) {
    constexpr std::size_t tags = fixed > 8 ? 2 : 1;
    const std::size_t place = fixed == 0 ? find(set, line) : find<fixed>(set, line, 0);
    if (place == (fixed == 0 ? ways_ : fixed)) return false;
    std::uint64_t* const order = set + (fixed == 0 ? tags_ : tags);
    if (dirty) order[1 + place] |= 1;
    if (first) *order = to_front(*order, place);
    return true;
  }

  /// The place of a line, ways_ when it is not there.
  [[nodiscard]] std::size_t find(const std::uint64_t* set, std::uint64_t line) const {
    const std::size_t place = find<0>(set, line, 0);
    return place == ways_ && tags_ > 1 ? find<0>(set, line, 1) : place;
  }
  /// Among the eight places of a word of tags; `fixed` as above.
  template <std::size_t fixed>
  [[gnu::always_inline]] std::size_t find(const std::uint64_t* set, std::uint64_t line,
                                          std::size_t word) const {
    const std::size_t ways = fixed == 0 ? ways_ : fixed, tags = fixed == 0 ? tags_ : 1;
    const std::uint64_t differ = set[word] ^ tag_of(line) * bytes;
    // The high bit of every byte that is 0, and of some above one that is.
    for (std::uint64_t same = (differ - bytes) & ~differ & (bytes << 7); same != 0; same &= same - 1) {
      const std::size_t place = 8 * word + (static_cast<std::size_t>(std::countr_zero(same)) >> 3);
      if ((fixed == 8 || place < ways) && set[tags + 1 + place] >> 1 == line) return place;
    }
    return ways;
  }
  /// The order with a place that is somewhere in it before all others.
  static std::uint64_t to_front(std::uint64_t order, std::size_t place) {
    const std::uint64_t differ = order ^ place * nibbles;
    const std::uint64_t same = (differ - nibbles) & ~differ & (nibbles << 3);
    const std::uint64_t upto = same ^ (same - 1); // all bits up to the high one of the place's nibble
    return (order & ~upto) | (order << 4 & upto) | place;
  }
  static void set_tag(std::uint64_t* set, std::uint64_t place, std::uint64_t tag) {
    std::uint64_t& word = set[place >> 3];
    const unsigned shift = static_cast<unsigned>(place & 7) * 8;
    word = (word & ~(std::uint64_t{0xff} << shift)) | tag << shift;
  }

  std::size_t ways_, tags_, stride_; ///< tags_: words of them before the order and the entries
  SetIndex index_;
  unsigned last_shift_; ///< of the last place in the order
  std::vector<std::uint64_t> words_;
};

} // namespace recount::model
