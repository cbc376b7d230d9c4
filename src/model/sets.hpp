// The sets of a level, for every replacement policy and any number of ways.
#pragma once

#include "model/replacement.hpp"
#include "model/set_index.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace recount::model {

/// Whether the entries of a set have an order, newest first: of use (LRU), of arrival (FIFO).
[[nodiscard]] constexpr bool ordered(Policy policy) {
  return policy == Policy::lru || policy == Policy::fifo;
}

/// Entries, each in a place of its set where it stays. An ordered policy links the places of a set in a ring,
/// others have a word per set (Replacement) or random numbers. With many ways a table by line holds the place
/// of each line, so that a look-up takes constant time. Not thread-safe. An entry is 2 * line + dirty.
class Sets {
public:
  using Entry = std::uint64_t;
  static constexpr Entry empty = ~Entry{0};

  Sets(const SetIndex& index, std::size_t ways, Policy policy, const Qlru& qlru = {}, std::uint64_t seed = 0);

  /// Looks a line up; if present, marks it dirty if requested and updates the replacement state.
  bool use(std::uint64_t line, bool dirty);
  /// Inserts a line that is absent; returns the evicted entry, or `empty`.
  Entry insert(std::uint64_t line, bool dirty);
  /// Removes a line; returns its entry, or `empty` if it was absent.
  Entry remove(std::uint64_t line);
  /// Marks a line clean; whether it was present and dirty.
  bool clean(std::uint64_t line);
  [[nodiscard]] bool holds(std::uint64_t line) const { return find(index_(line), line) < ways_; }

  /// One set's entries: by order, empty places last, or by place.
  void read(std::uint64_t set, std::span<Entry> out) const;
  /// The state of the policy besides the order of entries.
  void save_policy(std::vector<std::uint64_t>& words) const;
  /// Empties the sets and restarts the random numbers.
  void clear();

private:
  using Number = std::uint32_t;
  struct Link { ///< places of the same set
    Number before = 0, after = 0;
  };
  static constexpr std::size_t many_ways = 32; ///< with more, the table is faster than a scan

  [[nodiscard]] std::size_t find(std::uint64_t set, std::uint64_t line) const;
  [[nodiscard]] std::size_t home(std::uint64_t line) const { return line * 0x9e3779b97f4a7c15 >> shift_; }
  [[nodiscard]] std::size_t slot(std::uint64_t set, std::uint64_t line) const;
  void erase(std::uint64_t set, std::uint64_t line);
  void move_before(std::uint64_t set, Number place, Number other);
  [[nodiscard]] std::size_t victim(std::uint64_t set);

  std::size_t ways_;
  SetIndex index_;
  Policy policy_;
  Replacement replacement_;
  unsigned shift_;                   ///< the highest bits of a product are the slot
  std::size_t slots_;                ///< of the table of a set; 0: no table
  std::vector<Entry> entries_;       ///< set by set
  std::vector<Link> links_;          ///< likewise; of an ordered policy
  std::vector<Number> newest_;       ///< likewise: the place of the newest entry by set
  std::vector<Number> table_;        ///< set by set: place + 1 at the home of its line or after it; 0: none
  std::vector<std::uint64_t> words_; ///< of replacement_, by set
  std::uint64_t seed_, random_;
};

} // namespace recount::model
