// Sets of up to 16 ordered places, looked up and reordered by vector instructions.
#pragma once

#include "model/sets.hpp"

#include <boost/align/aligned_allocator.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recount::model {

/// Sets of LRU whose entries are stored in order: newest first, empty places last. A set is one
/// or two vectors of eight entries (9 to 16 ways: two), so that a look-up is a comparison and a reordering
/// a permutation. The first vectors of all sets are contiguous, as most look-ups need no other: those of
/// a large level then fill every line of this processor's caches. Only where supported(). Not thread-safe. An
/// entry is 2 * line + dirty.
class WideSets {
public:
  using Entry = std::uint64_t;
  static constexpr Entry empty = ~Entry{0};
  static constexpr std::size_t lanes = 8, max_ways = 2 * lanes; ///< lanes: entries of a vector

  /// Whether this processor has the instructions (AVX-512F and DQ, BMI2).
  [[nodiscard]] static bool supported();
  /// Whether levels that begin from now on may use such sets: tests compare both kinds. Not thread-safe.
  static inline bool allowed = true;

  WideSets(const SetIndex& index, std::size_t ways);

  /// Looks a line up, marks it dirty if requested and moves it to the front.
  bool use(std::uint64_t line, bool dirty);
  /// Inserts a line that is absent, at the front; returns the evicted entry, or `empty`.
  Entry insert(std::uint64_t line, bool dirty);
  /// Removes a line; returns its entry, or `empty` if it was absent.
  Entry remove(std::uint64_t line);
  [[nodiscard]] bool holds(std::uint64_t line) const;
  /// Marks a line clean; whether it was present and dirty.
  bool clean(std::uint64_t line);

  /// One set's entries in order.
  void read(std::uint64_t set, std::span<Entry> out) const;
  void clear();

  /// The places of a line's set, 64-byte aligned, for wide_lookup.hpp.
  [[gnu::always_inline]] [[nodiscard]] Entry* set_of(std::uint64_t line) {
    return entries_.data() + index_(line) * lanes;
  }
  /// The places of the set that begins `bytes` after the first one.
  [[gnu::always_inline]] [[nodiscard]] Entry* set_after(std::uint64_t bytes) {
    return reinterpret_cast<Entry*>(reinterpret_cast<char*>(entries_.data()) + bytes);
  }

  /// A set: its ways, the entries from its first vector to its second (0: it has one), and a bit for each
  /// entry of its last vector that is a way.
  struct Shape {
    std::size_t ways, second, oldest; ///< oldest: place() of the last way
    unsigned kept;
    /// Where a way is, in order, from the set's first entry.
    [[nodiscard]] std::size_t place(std::size_t way) const {
      return way < lanes ? way : second + way - lanes;
    }
    /// The bit of the last way.
    [[nodiscard]] unsigned last() const { return kept ^ kept >> 1; }
  };
  [[nodiscard]] const Shape& shape() const { return shape_; }
  /// What look-ups need, small enough for registers; valid as long as the sets.
  struct View {
    Entry* entries = nullptr; ///< null: the index function is not a mask and a fold
    std::uint64_t mask = 0;
    unsigned fold = 0; ///< SetIndex::fold()
    Shape shape{};
    [[gnu::always_inline]] [[nodiscard]] Entry* set_of(std::uint64_t line) const {
      return entries + ((line ^ line >> fold) & mask) * lanes;
    }
  };
  [[nodiscard]] View view() {
    return index_.folds() ? View{entries_.data(), index_.sets() - 1, index_.fold(), shape_} : View{};
  }

private:
  /// Way number `way`, in order, of a set.
  template <class Self>
  [[nodiscard]] static auto& at(Self& self, std::uint64_t set, std::size_t way) {
    return self.entries_[set * lanes + self.shape_.place(way)];
  }
  /// The way of a line; the number of ways if it is absent.
  [[nodiscard]] std::size_t find(std::uint64_t line) const;

  Shape shape_;
  SetIndex index_;
  std::vector<Entry, boost::alignment::aligned_allocator<Entry, 64>> entries_;
};

} // namespace recount::model
