// Sets of up to 16 ordered places, looked up and reordered by vector instructions.
#pragma once

#include "model/set_index.hpp"

#include <boost/align/aligned_allocator.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recount::model {

/// As PackedSets, but the entries themselves stand in order: newest first, empty places last. A set is one or
/// two vectors of eight entries (9 to 16 ways: two), so that a look is a comparison and a reordering a
/// permutation. Only where supported(). Not thread-safe. An entry is 2 * line + dirty.
class WideSets {
public:
  using Entry = std::uint64_t;
  static constexpr Entry empty = ~Entry{0};
  static constexpr std::size_t most_ways = 16;

  /// Whether this processor has the instructions (AVX-512F).
  [[nodiscard]] static bool supported();
  /// Whether levels that begin from now on may use such sets: tests compare both kinds. Not thread-safe.
  static inline bool allowed = true;

  WideSets(const SetIndex& index, std::size_t ways);

  /// Looks a line up and marks it dirty if asked to; with `first`, moves it to the front.
  bool use(std::uint64_t line, bool dirty, bool first);
  /// Takes in a line that is not there, at the front; returns the evicted entry, or `empty`.
  Entry insert(std::uint64_t line, bool dirty);
  /// Takes a line out; returns its entry, or `empty` when it was not there.
  Entry remove(std::uint64_t line);
  [[nodiscard]] bool holds(std::uint64_t line) const;

  /// One set's entries in order.
  void read(std::uint64_t set, std::span<Entry> out) const;
  void write(std::uint64_t set, std::span<const Entry> in);
  void clear();

  /// The places of a line's set, 64-byte aligned, for wide_lookup.hpp.
  [[gnu::always_inline]] [[nodiscard]] Entry* set_of(std::uint64_t line) {
    return entries_.data() + index_(line) * stride_;
  }
  /// The same; only of up to 8 ways where the set is the lowest bits of the line.
  [[gnu::always_inline]] [[nodiscard]] Entry* eight(std::uint64_t line) {
    return entries_.data() + (line & index_.mask()) * lanes;
  }

  [[nodiscard]] std::uint64_t mask() const { return index_.mask(); } ///< where eight() may serve
  /// Whether a set has two vectors.
  [[nodiscard]] bool two() const { return stride_ > lanes; }
  [[nodiscard]] std::size_t ways() const { return ways_; }
  /// A bit for each entry of a set's last vector that is a way, and for the last of them.
  [[nodiscard]] unsigned kept() const { return kept_; }
  [[nodiscard]] unsigned last() const { return kept_ ^ kept_ >> 1; }

private:
  static constexpr std::size_t lanes = 8; ///< of a vector

  [[nodiscard]] const Entry* set_of(std::uint64_t line) const {
    return entries_.data() + index_(line) * stride_;
  }

  std::size_t ways_, stride_; ///< stride_: entries of a set, those beyond its ways never used
  SetIndex index_;
  unsigned kept_;
  std::vector<Entry, boost::alignment::aligned_allocator<Entry, 64>> entries_;
};

} // namespace recount::model
