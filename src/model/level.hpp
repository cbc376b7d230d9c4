// One set-associative level: which lines it holds, and which leaves.
#pragma once

#include "model/counts.hpp"
#include "model/linked_sets.hpp"
#include "model/machine.hpp"
#include "model/packed_sets.hpp"
#include "model/sectors.hpp"
#include "model/wide_sets.hpp"

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace recount::model {

/// The lines of one level. A line is its number (address / line size). Not thread-safe.
///
/// Every set has its entries in an order. For LRU it is that of recency and for FIFO that of arrival, newest
/// first and empty places last; for the others a line keeps its place.
class Level {
public:
  using Entry = PackedSets::Entry; ///< 2 * line + dirty
  static constexpr Entry empty = PackedSets::empty;

  Level(const SetIndex& index, std::uint64_t ways, std::uint64_t line_bytes, Policy policy,
        std::uint64_t seed, const Qlru& qlru = {});

  /// Looks a line up and, where it is, does what a use does: order of recency, dirty mark.
  [[gnu::always_inline]] bool use(std::uint64_t line, bool dirty) {
    if (kind_ == Kind::wide) return wide_.use(line, dirty, policy_ == Policy::lru);
    if (kind_ == Kind::linked) return linked_.use(line, dirty, policy_ == Policy::lru);
    return kind_ == Kind::packed ? packed_.use(line, dirty, policy_ == Policy::lru) : use_other(line, dirty);
  }
  /// How the lines are kept.
  enum class Kind { wide, packed, linked, other };
  [[nodiscard]] Kind kind() const { return kind_; }
  /// Whether PackedSets::use_eight() or wide::use() of WideSets::set_after() may serve in place of use().
  [[nodiscard]] bool quick() const { return quick_; }
  /// Whether wide::use() and wide::insert() of wide() may serve in place of use() and insert().
  [[nodiscard]] bool wide_lru() const { return kind_ == Kind::wide && policy_ == Policy::lru; }
  [[nodiscard]] PackedSets& packed() { return packed_; }
  [[nodiscard]] WideSets& wide() { return wide_; }
  /// Takes in a line that is not there; returns the evicted entry, or `empty`.
  Entry insert(std::uint64_t line, bool dirty) {
    if (kind_ == Kind::wide) return wide_.insert(line, dirty);
    if (kind_ == Kind::linked) return linked_.insert(line, dirty);
    return kind_ == Kind::packed ? packed_.insert(line, dirty) : insert_other(line, dirty);
  }
  /// Takes a line out; returns its entry, or `empty` when it was not there.
  Entry remove(std::uint64_t line);
  [[nodiscard]] bool holds(std::uint64_t line) const;
  /// Marks a line clean, which is no use of it; whether it was dirty.
  bool clean(std::uint64_t line);

  [[nodiscard]] unsigned shift() const { return shift_; }
  [[nodiscard]] Policy policy() const { return policy_; }

  /// Everything the future depends on, appended to `words`: the sets' entries in their order, the words of
  /// the replacement policy, the state of the random numbers.
  void save(std::vector<std::uint64_t>& words) const;
  /// Compares with what save() appended, taking it off the front of `words`.
  [[nodiscard]] bool same(std::span<const std::uint64_t>& words) const;
  /// Becomes what save() appended, taking it off the front of `words`.
  void restore(std::span<const std::uint64_t>& words);
  /// Empties the level and restarts its random numbers. Counts stay.
  void clear();
  /// One set's entries in their order.
  void read(std::uint64_t set, std::span<Entry> out) const;
  void write(std::uint64_t set, std::span<const Entry> in);
  /// The words of the replacement policy, set by set; none where has_word() is false.
  [[nodiscard]] std::span<std::uint64_t> words() { return words_; }

  /// Places without a line.
  [[nodiscard]] std::int64_t vacant() const;

  /// As use(), of a line that may have sectors: false where the sector of the address is not there.
  bool use_at(std::uint64_t address, bool dirty) {
    if (sectors.any()) {
      if (!sectors.has(address)) return false;
      sectors.add(address, dirty);
    }
    return use(address >> shift_, dirty);
  }
  /// log2 of the bytes that are brought in at a time.
  [[nodiscard]] unsigned unit_shift() const { return sectors.any() ? sectors.shift() : shift_; }
  /// Of an entry that has left: a bit for each dirty sector, for the whole line without sectors.
  std::uint64_t take_dirty(Entry entry) { return sectors.any() ? sectors.take(entry >> 1) : entry & 1; }

  LevelCounts counts;
  Sectors sectors;

private:
  [[nodiscard]] Entry* set_of(std::uint64_t line) { return entries_.data() + index_(line) * ways_; }
  [[nodiscard]] const Entry* set_of(std::uint64_t line) const {
    return entries_.data() + index_(line) * ways_;
  }
  [[nodiscard]] bool same_entries(std::span<const Entry> theirs) const;
  [[nodiscard]] std::size_t find(const Entry* set, std::uint64_t line) const;
  bool use_other(std::uint64_t line, bool dirty);
  Entry insert_other(std::uint64_t line, bool dirty);
  [[nodiscard]] std::size_t victim(std::uint64_t set);

  bool vectors_; ///< entries are searched eight at a time
  Kind kind_;    ///< the lines are in wide_, packed_, linked_ or entries_
  bool quick_;   ///< LRU, 8 ways (wide: any number), the set is the lowest bits of the line
  Policy policy_;
  unsigned shift_;
  WideSets wide_;
  PackedSets packed_;
  LinkedSets linked_;
  std::vector<Entry> entries_; ///< set by set
  std::size_t ways_;
  SetIndex index_;
  Replacement replacement_;
  std::vector<std::uint64_t> words_; ///< of its sets
  std::uint64_t seed_, random_;
};

} // namespace recount::model
