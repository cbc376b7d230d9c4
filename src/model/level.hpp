// One set-associative level: which lines it holds, and which leaves.
#pragma once

#include "model/counts.hpp"
#include "model/machine.hpp"

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace recount::model {

/// The lines of one level. A line is its number (address / line size). Not thread-safe.
///
/// Every set is an array of entries. For LRU it stands in order of recency and for FIFO in order of arrival,
/// newest first and empty places last; for the others a line keeps its place.
class Level {
public:
  using Entry = std::uint64_t; ///< 2 * line + dirty
  static constexpr Entry empty = ~Entry{0};

  Level(std::uint64_t sets, std::uint64_t ways, std::uint64_t line_bytes, Policy policy, std::uint64_t seed);

  /// Looks a line up and, where it is, does what a use does: order of recency, dirty mark.
  bool use(std::uint64_t line, bool dirty) {
    return policy_ == Policy::lru ? use_lru(line, dirty) : use_other(line, dirty);
  }
  /// The same, for a level known to be LRU. Moves entries down while it looks, so that a hit takes one pass.
  [[gnu::always_inline]] bool use_lru(std::uint64_t line, bool dirty) {
    Entry* const set = set_of(line);
    const Entry key = line << 1;
    Entry held = set[0];
    if ((held & ~Entry{1}) == key) {
      set[0] = held | Entry{dirty};
      return true;
    }
    for (std::size_t way = 1; way < ways_; ++way) {
      const Entry here = set[way];
      set[way] = held;
      if ((here & ~Entry{1}) == key) {
        set[0] = here | Entry{dirty};
        return true;
      }
      held = here;
    }
    move_back(set, held);
    return false;
  }
  /// Takes in a line that is not there; returns the entry that had to leave, or `empty`.
  Entry insert(std::uint64_t line, bool dirty);
  /// Takes a line out; returns its entry, or `empty` when it was not there.
  Entry remove(std::uint64_t line);
  [[nodiscard]] bool holds(std::uint64_t line) const;

  [[nodiscard]] unsigned shift() const { return shift_; }
  [[nodiscard]] Policy policy() const { return policy_; }

  /// Everything the future depends on, appended to `words`: the sets' entries (2 * line + dirty; in order
  /// where the policy keeps one), the trees of tree-PLRU, the state of the random numbers.
  void save(std::vector<std::uint64_t>& words) const;
  /// Compares with what save() appended, taking it off the front of `words`.
  [[nodiscard]] bool same(std::span<const std::uint64_t>& words) const;
  /// Becomes what save() appended, taking it off the front of `words`.
  void restore(std::span<const std::uint64_t>& words);
  /// Empties the level and restarts its random numbers. Counts stay.
  void clear();
  /// All places, set by set, and the trees of tree-PLRU, for those who move sets in and out.
  [[nodiscard]] std::span<Entry> entries() { return entries_; }
  [[nodiscard]] std::span<std::uint64_t> trees() { return trees_; }

  LevelCounts counts;

private:
  [[nodiscard]] std::uint64_t index(std::uint64_t line) const {
    return power_of_two_ ? line & (sets_ - 1) : line % sets_;
  }
  [[nodiscard]] Entry* set_of(std::uint64_t line) { return entries_.data() + index(line) * ways_; }
  [[nodiscard]] const Entry* set_of(std::uint64_t line) const {
    return entries_.data() + index(line) * ways_;
  }
  [[nodiscard]] std::size_t find(const Entry* set, std::uint64_t line) const;
  void move_back(Entry* set, Entry last);
  bool use_other(std::uint64_t line, bool dirty);
  void point_away(std::uint64_t set, std::size_t way);
  [[nodiscard]] std::size_t victim(std::uint64_t set);

  std::vector<Entry> entries_;
  std::size_t ways_;
  std::uint64_t sets_;
  bool power_of_two_;
  Policy policy_;
  unsigned shift_;
  std::vector<std::uint64_t> trees_; ///< plru: a bit a node of each set's tree, root at bit 1
  std::uint64_t seed_, random_;
};

} // namespace recount::model
