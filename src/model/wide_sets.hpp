// Sets of up to 16 ordered places, looked up and reordered by vector instructions.
#pragma once

#include "model/set_index.hpp"

#include <boost/align/aligned_allocator.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
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

  /// Whether this processor has the instructions (AVX-512F and DQ, BMI2).
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

  /// One set's entries in order, or where dense() those of it and the sets after it.
  void read(std::uint64_t set, std::span<Entry> out) const;
  void write(std::uint64_t set, std::span<const Entry> in);
  /// Whether read() would give these.
  [[nodiscard]] bool same(std::uint64_t set, std::span<const Entry> entries) const;
  [[nodiscard]] bool dense() const { return ways_ == stride_; }
  void clear();

  /// The places of a line's set, 64-byte aligned, for wide_lookup.hpp.
  [[gnu::always_inline]] [[nodiscard]] Entry* set_of(std::uint64_t line) {
    return entries_.data() + index_(line) * stride_;
  }
  /// The same; only of up to 8 ways where the set is the lowest bits of the line.
  [[gnu::always_inline]] [[nodiscard]] Entry* eight(std::uint64_t line) {
    return entries_.data() + (line & index_.mask()) * lanes;
  }

  /// A set: its ways, whether it has two vectors, and a bit for each entry of its last vector that is a way.
  struct Shape {
    std::size_t ways;
    bool two;
    unsigned kept;
    /// The bit of the last way.
    [[nodiscard]] unsigned last() const { return kept ^ kept >> 1; }
  };
  [[nodiscard]] const Shape& shape() const { return shape_; }
  /// What look-ups need, in one piece that fits registers; valid as long as the sets.
  struct View {
    Entry* entries;
    std::uint64_t mask;
    unsigned fold; ///< SetIndex::fold()
    Shape shape;
    [[gnu::always_inline]] [[nodiscard]] Entry* set_of(std::uint64_t line) const {
      const std::uint64_t set = (line ^ line >> fold) & mask;
      return entries + (shape.two ? 2 * set : set) * lanes;
    }
  };
  /// Nothing where the set takes more to compute.
  [[nodiscard]] std::optional<View> view() {
    if (!index_.folds()) return {};
    return View{entries_.data(), index_.sets() - 1, index_.fold(), shape_};
  }

private:
  static constexpr std::size_t lanes = 8; ///< of a vector

  [[nodiscard]] const Entry* set_of(std::uint64_t line) const {
    return entries_.data() + index_(line) * stride_;
  }

  std::size_t ways_, stride_; ///< stride_: entries of a set, those beyond its ways never used
  Shape shape_;
  SetIndex index_;
  std::vector<Entry, boost::alignment::aligned_allocator<Entry, 64>> entries_;
};

} // namespace recount::model
