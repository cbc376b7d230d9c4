// One set-associative level of a cache or TLB: the lines that it holds, and evictions.
#pragma once

#include "model/counts.hpp"
#include "model/line_marks.hpp"
#include "model/machine.hpp"
#include "model/sets.hpp"
#include "model/wide_sets.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

namespace recount::model {

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
    return wide_ ? wide_sets_.use(line, dirty) : sets_.use(line, dirty);
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
  [[nodiscard]] bool is_wide() const { return wide_; }
  [[nodiscard]] WideSets& wide() { return wide_sets_; }
  [[nodiscard]] unsigned shift() const { return shift_; }

  /// Appends the whole state to `words`: the entries of the sets in their order, the state of the replacement
  /// policy and of the random numbers.
  void save(std::vector<std::uint64_t>& words) const;
  /// Empties the level and restarts its random numbers. Counts stay.
  void clear();

  /// Number of empty ways over all sets.
  [[nodiscard]] std::int64_t vacant() const;

  /// The lines that hold the 2^shift bytes at an address, which is a multiple of that; a line is no longer.
  [[nodiscard]] auto lines_of(std::uint64_t address, unsigned shift) const {
    const std::uint64_t first = address >> shift_;
    return std::views::iota(first, first + (std::uint64_t{1} << (shift - shift_)));
  }

  LevelCounts counts;

private:
  Level(const SetIndex& index, std::size_t ways, Policy policy, const Qlru& qlru, std::uint64_t seed,
        unsigned shift);
  void read(std::uint64_t set, std::span<Entry> out) const {
    wide_ ? wide_sets_.read(set, out) : sets_.read(set, out);
  }

  bool wide_; ///< the lines are in wide_sets_, else in sets_
  unsigned shift_;
  std::uint64_t number_; ///< of sets
  std::size_t ways_;
  WideSets wide_sets_;
  Sets sets_;
};

/// Exchanges the contents of two levels or prefetchers, not the counts, which are those of all cores.
void swap_contents(auto& one, auto& other) {
  std::swap(one, other);
  std::swap(one.counts, other.counts);
}

// One pass for a family of LRU caches: stack distances within each set.

/// For every number of sets that a family has, and each of those sets, the lines in order of recency. An
/// access found at depth d hits in every cache of so many sets and more than d ways, so that one look serves
/// all associativities (Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage hierarchies", IBM
/// Systems Journal 9(2), 1970). Not thread-safe.
class Distances {
public:
  explicit Distances(const MachineDescription& machine);

  void take(std::uint64_t line, bool store) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const Group& group = groups_[i];
      const std::uint64_t set = group.mask != 0 || group.sets == 1 ? line & group.mask : line % group.sets;
      std::uint64_t* const lines = lines_.data() + group.lines + set * group.ways;
      if (lines[0] == line) {
        ++counts_[group.counts + (store ? 1 : 0)];
        if (group.spreads) return; // newest here, hence newest in all that follow
        continue;
      }
      deeper(group, lines, line, store);
    }
  }

  /// What was counted, in an order of its own; for misses() and add().
  [[nodiscard]] const std::vector<std::int64_t>& counts() const { return counts_; }
  /// Misses of a member, by loads or by stores, among such counts.
  [[nodiscard]] std::int64_t misses(std::span<const std::int64_t> counts, const FamilyMember& member,
                                    bool store) const;
  /// Counts `times` times what lies between two moments.
  void add(std::span<const std::int64_t> later, std::span<const std::int64_t> earlier, std::int64_t times);
  void reset_counters();

  /// As Level::save().
  void save(std::vector<std::uint64_t>& words) const;
  void clear();

private:
  struct Group { ///< caches of one number of sets
    std::uint64_t sets = 1, mask = 0;
    std::size_t ways = 0;   ///< the most of them
    std::size_t lines = 0;  ///< where its sets begin in lines_
    std::size_t counts = 0; ///< where its counts begin: for each depth, `ways` standing for not there, two
    bool spreads = false;   ///< all that follow have a multiple of its sets
  };
  void deeper(const Group& group, std::uint64_t* lines, std::uint64_t line, bool store);

  std::int64_t line_;
  std::vector<Group> groups_; ///< by number of sets
  std::vector<std::uint64_t> lines_;
  std::vector<std::int64_t> counts_;
};

// Data TLBs: which pages can be translated without a walk.

/// Any number of levels; a translation found in one is taken into those before it. Not thread-safe.
class Tlb {
public:
  /// `seed`: of its first level. `mixed`: translate_huge() is called, too.
  Tlb(const TlbDescription& description, std::uint64_t seed, bool mixed = false);

  /// True if some level holds the page. Afterwards all do: the caller walks on false. Accesses to the first
  /// level are not counted here.
  bool translate(std::uint64_t page, Cause cause) { return is_newest(page) || translate_older(page, cause); }
  /// Whether the page was the last used in its group of sets of the first level, so that to use it again
  /// changes nothing; from now on it is. With mixed pages there is one group, of page numbers of small pages.
  [[gnu::always_inline]] bool is_newest(std::uint64_t page) {
    return std::exchange(newest_[page & newest_mask_], page) == page;
  }
  /// translate() of a page that was not is_newest().
  bool translate_older(std::uint64_t page, Cause cause) {
    return wide_ ? translate_wide(page, cause) : levels.front().use(page, false) || beyond_first(page, cause);
  }
  /// Whether each level is Level::is_wide().
  [[nodiscard]] bool wide() const { return wide_; }
  [[nodiscard]] bool mixed() const { return mixed_; }
  /// translate_older() of a huge page. If these have fewer levels, it misses in the remaining ones, too.
  bool translate_huge(std::uint64_t page, Cause cause);
  [[nodiscard]] unsigned huge_shift() const { return huge_shift_; }
  /// Levels of the page table that huge pages do not have.
  [[nodiscard]] unsigned fewer_tables() const { return (huge_shift_ - page_shift_) / 9; }
  /// Entries of this and the huge page's level that are empty.
  [[nodiscard]] std::int64_t vacant(std::size_t level) const;
  /// As Level::save().
  void save(std::vector<std::uint64_t>& words) const;
  void clear();
  /// Exchanges the contents, not the counts.
  void swap_contents(Tlb& other);
  [[nodiscard]] unsigned page_shift() const { return page_shift_; }

  std::vector<Level> levels;
  std::vector<Level> walk; ///< as TlbDescription::walk
  std::vector<Level> huge; ///< for huge pages, of mixed ones; the counts are those of `levels`
  static constexpr std::array parts{&Tlb::levels, &Tlb::walk, &Tlb::huge};

private:
  bool beyond_first(std::uint64_t page, Cause cause);
  template <class Entries, class Key>
  bool translate_from(std::size_t at, std::size_t held, Cause cause, Entries entries, Key key);
  bool translate_wide(std::uint64_t page, Cause cause);
  /// How huge pages are kept in a level that holds small ones, too.
  struct Shared {
    SetIndex small, huge;
    /// A number in place of the page number, greater than any of a small page, that has the set of the page.
    [[nodiscard]] std::uint64_t operator()(std::uint64_t page) const {
      constexpr std::uint64_t high = std::uint64_t{1} << 60; // masks select lower bits
      if (!small.invertible()) return page | high;           // the functions are the same
      const std::uint64_t apart = high / small.sets() + 1;
      return small.line_of(huge(page), page / small.sets() + apart);
    }
  };
  unsigned page_shift_, huge_shift_;
  bool mixed_;
  bool wide_; ///< one size of pages, and all levels are is_wide()
  static constexpr std::uint64_t no_page = ~std::uint64_t{0};
  std::array<std::uint64_t, 64> newest_;      ///< by group of sets of the first level: the page used last
  std::uint64_t newest_mask_ = 0;             ///< pages of one set are in one group
  std::vector<std::optional<Shared>> shared_; ///< by level of huge pages; none: in `huge`
};

// The hardware prefetchers of one level: requests that they observe, lines that they fetch, and their use.

/// Decides which lines to fetch; the caller fetches them. Lines are line numbers. Not thread-safe.
class Prefetchers {
public:
  Prefetchers(const std::vector<Prefetcher>& described, unsigned line_shift);

  [[nodiscard]] bool none() const { return described_.empty(); }
  /// A load, store, fetch of instructions, walk or a prefetcher of the level above has requested a line,
  /// which the level now holds. Calls fetch(kind, line) for each line that a prefetcher requests, in order.
  template <class Fetch>
  void watch(std::uint64_t line, Cause cause, bool missed, Fetch&& fetch) {
    for (const Prefetcher& prefetcher : described_) {
      if (cause == Cause::walk && prefetcher.kind != Prefetch::adjacent_line) continue;
      if (prefetcher.kind == Prefetch::streamer) {
        follow(prefetcher, line, fetch);
      } else if (missed) {
        const std::uint64_t other = prefetcher.kind == Prefetch::next_line ? line + 1 : line ^ 1;
        if (page(other) == page(line)) fetch(prefetcher.kind, other);
      }
    }
  }
  /// A line was fetched for a prefetcher, was used by such a request, or was evicted.
  void fetched(Prefetch kind, std::uint64_t line) { unused_.put(line, static_cast<unsigned>(kind)); }
  void used(std::uint64_t line) { settle(line, &PrefetchCounts::useful); }
  void evicted(std::uint64_t line) { settle(line, &PrefetchCounts::useless); }

  /// As Level::save().
  void save(std::vector<std::uint64_t>& words) const;
  void clear();

  LevelPrefetchCounts counts;

private:
  struct Stream {
    std::uint64_t last = 0, ahead = 0;     ///< lines: accessed last, requested farthest
    std::int64_t direction = 0, steps = 1; ///< accesses in the direction, up to the trigger
  };
  static constexpr unsigned page_shift = 12; ///< no prefetcher leaves 4096 bytes

  [[nodiscard]] std::uint64_t page(std::uint64_t line) const { return line << shift_ >> page_shift; }
  /// The stream of the line's page, from now on the most recently used; a new one begins at the line.
  Stream& stream(const Prefetcher& prefetcher, std::uint64_t line) {
    if (latest_ >= streams_.size() || pages_[latest_] != page(line))
      latest_ = find_or_add_stream(prefetcher, line);
    return streams_[latest_];
  }
  /// The index of stream(); the least recently used one is replaced if all are in use.
  std::size_t find_or_add_stream(const Prefetcher& prefetcher, std::uint64_t line);
  template <class Fetch>
  void follow(const Prefetcher& prefetcher, std::uint64_t line, Fetch&& fetch) {
    Stream& s = stream(prefetcher, line);
    if (s.last == line) return;
    const std::int64_t direction = line > s.last ? 1 : -1;
    s.steps = direction == s.direction ? s.steps + 1 : 2;
    if (direction != s.direction) s.ahead = line;
    s.direction = direction;
    s.last = line;
    if (s.steps < prefetcher.trigger) return;
    s.steps = prefetcher.trigger; // further ones make no difference
    const auto ahead = [&](std::uint64_t x) { return static_cast<std::int64_t>(x - line) * s.direction; };
    if (ahead(s.ahead) < 0) s.ahead = line;
    for (std::int64_t i = 0; i < prefetcher.degree; ++i) {
      const std::uint64_t next = s.ahead + static_cast<std::uint64_t>(s.direction);
      if (ahead(next) > prefetcher.distance || page(next) != page(line)) return;
      s.ahead = next;
      fetch(prefetcher.kind, next);
    }
  }
  void settle(std::uint64_t line, std::int64_t PrefetchCounts::*count) {
    if (const unsigned kind = unused_.take(line); kind != LineMarks::none) ++(counts[kind].*count);
  }

  std::vector<Prefetcher> described_;
  unsigned shift_;
  std::vector<Stream> streams_;
  std::vector<std::uint64_t> pages_, last_use_; ///< of each stream: page; use_count_ at the last use
  std::uint64_t use_count_ = 0;
  std::size_t latest_ = 0; ///< index of the most recently used stream
  LineMarks unused_;       ///< prefetched lines that the level holds, with their Prefetch
};

} // namespace recount::model
