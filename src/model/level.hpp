// One set-associative level of a cache or TLB: the lines that it holds, and evictions.
#pragma once

#include "base/format.hpp"
#include "model/counts.hpp"
#include "model/machine.hpp"
#include "model/sets.hpp"
#include "model/wide_sets.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace recount::model {

/// The sectors of a level's lines: which are present, and which of them are dirty. Not thread-safe.
class Sectors {
public:
  Sectors() = default; ///< lines without sectors
  /// log2 of the bytes of a line and of a sector.
  Sectors(unsigned line, unsigned sector) : line_shift_(line), shift_(sector) {}

  [[nodiscard]] bool any() const { return line_shift_ > 0; }
  [[nodiscard]] unsigned shift() const { return shift_; }
  [[nodiscard]] bool has(std::uint64_t address) const {
    const auto found = lines_.find(address >> line_shift_);
    return found != lines_.end() && (found->second.valid & bit(address)) != 0;
  }
  /// Marks the sector of the address as present and, if `dirty`, as dirty.
  void add(std::uint64_t address, bool dirty) {
    Line& line = lines_[address >> line_shift_];
    line.valid |= bit(address);
    if (dirty) line.dirty |= bit(address);
  }
  /// Removes an evicted line; returns the bit set of its dirty sectors.
  std::uint64_t take(std::uint64_t line) {
    const auto found = lines_.find(line);
    if (found == lines_.end()) return 0;
    const std::uint64_t dirty = found->second.dirty;
    lines_.erase(found);
    return dirty;
  }
  void clean(std::uint64_t line) {
    if (const auto found = lines_.find(line); found != lines_.end()) found->second.dirty = 0;
  }

  void save(std::vector<std::uint64_t>& words) const;
  void clear() { lines_.clear(); }

private:
  struct Line {
    std::uint64_t valid = 0, dirty = 0;
  };
  [[nodiscard]] std::uint64_t bit(std::uint64_t address) const {
    return std::uint64_t{1} << (address >> shift_ & ((std::uint64_t{1} << (line_shift_ - shift_)) - 1));
  }
  unsigned line_shift_ = 0, shift_ = 0;
  std::unordered_map<std::uint64_t, Line> lines_;
};

/// The largest power of two that divides the number of sets, but at most `most` (a power of two), so that the
/// lowest bits of a line select a group of sets; 1 if the level is hashed.
[[nodiscard]] std::uint64_t groups_of_sets(const auto& level, std::size_t most) {
  const std::int64_t sets = level.index.empty() ? level.sets() : 1;
  return std::min<std::uint64_t>(most, static_cast<std::uint64_t>(sets & -sets));
}

/// The lines of one level. A line is its number (address / line size). Not thread-safe.
class Level {
public:
  using Entry = Sets::Entry; ///< 2 * line + dirty
  static constexpr Entry empty = Sets::empty;

  Level(const LevelDescription& level, std::uint64_t seed);
  /// A level of a TLB: its lines are pages.
  Level(const TlbLevel& level, std::uint64_t seed);

  /// Looks a line up; if present, marks it dirty if requested and updates the replacement state.
  bool use(std::uint64_t line, bool dirty) {
    return wide_ ? wide_sets_.use(line, dirty, policy_ == Policy::lru) : sets_.use(line, dirty);
  }
  /// Inserts a line that is absent; returns the evicted entry, or `empty`.
  Entry insert(std::uint64_t line, bool dirty) {
    return wide_ ? wide_sets_.insert(line, dirty) : sets_.insert(line, dirty);
  }
  /// Removes a line; returns its entry, or `empty` if it was absent.
  Entry remove(std::uint64_t line) { return wide_ ? wide_sets_.remove(line) : sets_.remove(line); }
  [[nodiscard]] bool holds(std::uint64_t line) const {
    return wide_ ? wide_sets_.holds(line) : sets_.holds(line);
  }
  /// Marks a line clean without updating the replacement state; returns whether it was dirty.
  bool clean(std::uint64_t line);

  /// Whether wide::use() and wide::insert() on wide() are equivalent to use() and insert().
  [[nodiscard]] bool wide_lru() const { return wide_ && policy_ == Policy::lru; }
  [[nodiscard]] WideSets& wide() { return wide_sets_; }
  [[nodiscard]] unsigned shift() const { return shift_; }

  /// Appends the whole state to `words`: the entries of the sets in their order, the state of the replacement
  /// policy and of the random numbers.
  void save(std::vector<std::uint64_t>& words) const;
  /// Empties the level and restarts its random numbers. Counts stay.
  void clear();

  /// Number of empty ways over all sets.
  [[nodiscard]] std::int64_t vacant() const;

  /// As use(), for lines that may have sectors: also a miss if the sector of the address is absent.
  bool use_at(std::uint64_t address, bool dirty) {
    if (sectors.any()) {
      if (!sectors.has(address)) return false;
      sectors.add(address, dirty);
    }
    return use(address >> shift_, dirty);
  }
  /// log2 of the bytes that a miss fetches.
  [[nodiscard]] unsigned unit_shift() const { return sectors.any() ? sectors.shift() : shift_; }
  /// Bit set of the dirty sectors of an evicted entry; without sectors, bit 0 stands for the line.
  std::uint64_t take_dirty(Entry entry) { return sectors.any() ? sectors.take(entry >> 1) : entry & 1; }

  LevelCounts counts;
  Sectors sectors;

private:
  Level(const SetIndex& index, std::size_t ways, Policy policy, const Qlru& qlru, std::uint64_t seed,
        unsigned shift);
  void read(std::uint64_t set, std::span<Entry> out) const {
    wide_ ? wide_sets_.read(set, out) : sets_.read(set, out);
  }

  Policy policy_;
  bool wide_; ///< the lines are in wide_sets_, else in sets_
  unsigned shift_;
  std::uint64_t number_; ///< of sets
  std::size_t ways_;
  WideSets wide_sets_;
  Sets sets_;
};

// Sizes in text: "32K".

/// "32K" in bytes: a number from 1, with K, M or G (powers of 1024) or without. Nothing for anything else.
[[nodiscard]] inline std::optional<std::int64_t> parse_size(std::string_view text) {
  const auto unit = std::string_view("KMG").find(text.empty() ? ' ' : text.back());
  const std::int64_t factor = unit == std::string_view::npos ? 1 : std::int64_t{1} << (10 * (unit + 1));
  if (factor > 1) text.remove_suffix(1);
  const auto number = base::parse<std::int64_t>(text);
  if (!number || *number < 1 || *number > std::numeric_limits<std::int64_t>::max() / factor) return {};
  return *number * factor;
}

} // namespace recount::model
