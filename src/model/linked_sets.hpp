// Sets of many ordered places, as of fully associative levels.
#pragma once

#include "model/set_index.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recount::model {

/// As PackedSets, for any number of ways: a look-up takes constant time. Entries stay where they
/// are; a ring of places is their order, and a table by line tells where a line is. Not thread-safe. An entry
/// is 2 * line + dirty.
class LinkedSets {
public:
  using Entry = std::uint64_t;
  static constexpr Entry empty = ~Entry{0};

  LinkedSets(const SetIndex& index, std::size_t ways);

  /// Looks a line up and marks it dirty if asked to; with `first`, moves it to the front.
  bool use(std::uint64_t line, bool dirty, bool first);
  /// Takes in a line that is not there, at the front; returns the evicted entry, or `empty`.
  Entry insert(std::uint64_t line, bool dirty);
  /// Takes a line out; returns its entry, or `empty` when it was not there.
  Entry remove(std::uint64_t line);
  [[nodiscard]] bool holds(std::uint64_t line) const {
    const std::uint64_t set = index_(line);
    return table_[slot(set, line)] != 0;
  }

  /// One set's entries in order: newest first, empty places last.
  void read(std::uint64_t set, std::span<Entry> out) const;
  void write(std::uint64_t set, std::span<const Entry> in);
  /// Whether read() would give these.
  [[nodiscard]] bool same(std::uint64_t set, std::span<const Entry> entries) const;
  void clear();

private:
  using Number = std::uint32_t;
  struct Place {
    Entry entry = empty;
    Number before = 0, after = 0; ///< in the ring of the set; among all places
  };

  [[nodiscard]] std::size_t home(std::uint64_t line) const { return line * 0x9e3779b97f4a7c15 >> shift_; }
  [[nodiscard]] std::size_t slot(std::uint64_t set, std::uint64_t line) const;
  void forget(std::uint64_t set, std::size_t slot);
  void link(Number place, Number before);

  std::size_t ways_;
  SetIndex index_;
  unsigned shift_; ///< the highest bits of a product are the slot
  std::size_t slots_;
  std::vector<Place> places_; ///< set by set
  std::vector<Number> first_; ///< by set: the place of the newest entry
  std::vector<Number>
      table_; ///< set by set: number of a place + 1 at the home of its line or after it; 0: none
};

} // namespace recount::model
