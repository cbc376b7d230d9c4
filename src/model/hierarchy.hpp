// The cache hierarchy: replays loads and stores and counts what each level does. Exact; see
// recount-machines(5).
#pragma once

#include "model/counts.hpp"
#include "model/distances.hpp"
#include "model/instructions.hpp"
#include "model/level.hpp"
#include "model/machine.hpp"
#include "model/placement.hpp"
#include "model/prefetchers.hpp"
#include "model/sampling.hpp"
#include "model/tlb.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

namespace recount::model {

/// Progress of a simulation, reported by its loops. Not thread-safe.
class Progress {
public:
  /// Called with the share of the simulation that is done, 0 to 1; often, so it should be quick.
  std::function<void(double share)> listener;

  /// What follows is the part of the whole from `from` to `to`.
  void part(double from, double to) {
    from_ = from;
    to_ = to;
  }
  /// This share of the part is done.
  void tell(double share) const {
    if (listener) listener(from_ + share * (to_ - from_));
  }

private:
  double from_ = 0, to_ = 1;
};

/// A set-associative hierarchy of data caches, starting cold. Addresses are plain numbers: nothing is
/// dereferenced. load() and store() allocate nothing and make no virtual call. Not thread-safe: one per
/// thread.
///
/// What happens, in this order. An access is split at line ends; each line is one access to the first level.
/// With a TLB the page is looked up first, and a miss in all its levels reads one page-table entry through
/// the first cache level. A miss requests the line from the next level (which does the same in turn), then
/// allocates a way, evicting a line if no place is empty, then fills it. A dirty line that is evicted is
/// written to the next level: that counts there under Cause::write_back, never as demand; it is a use of the
/// line if the level holds it, else it fills the level without a request further down.
class Hierarchy {
public:
  /// Throws recount::Error (bad_input) for a description that check() refuses.
  explicit Hierarchy(const MachineDescription& machine);

  /// A load of `bytes` (at least 1) at `address`.
  void load(std::uint64_t address, unsigned bytes) { access<Cause::load>(address, bytes); }
  /// A store of `bytes` (at least 1) at `address`.
  void store(std::uint64_t address, unsigned bytes) { access<Cause::store>(address, bytes); }

  /// A fetch of `bytes` (at least 1) of instructions at `address`, which nothing stores to. The machine has
  /// MachineDescription::instructions and pages of one size.
  void fetch(std::uint64_t address, unsigned bytes);

  /// What follows is done by core number `core` modulo the cores of the machine; at first by core 0. As long
  /// as no other is selected, this is a machine of one core.
  void select(std::uint64_t core) {
    if (core %= static_cast<std::uint64_t>(machine_.cores); core != core_) change_core(core);
  }
  /// Sets every count to 0; the contents of the caches remain.
  void reset_counters();
  /// Empties the caches and TLBs, without write-backs, and restarts random replacement. Counts stay.
  void clear();

  [[nodiscard]] Counts counts() const;
  /// Misses of a member of the machine's family, by loads or by stores.
  [[nodiscard]] std::int64_t misses(const FamilyMember& member, Cause cause) const {
    return distances_->misses(distances_->counts(), member, cause == Cause::store);
  }
  [[nodiscard]] std::size_t levels() const { return levels_.size(); }
  [[nodiscard]] const MachineDescription& machine() const { return machine_; }

  /// Everything that decides what further accesses will count: two equal states have equal futures.
  using State = std::vector<std::uint64_t>;
  [[nodiscard]] State state(std::size_t caches = every) const;
  /// Appends state() to `words`.
  void save(State& words, std::size_t caches = every) const;
  /// Compares the whole state, without allocating.
  [[nodiscard]] bool is(const State& state, std::size_t caches = every) const;
  /// All three: of the TLBs and the first so many caches. Where these are the same and as many requests had
  /// reached() the next cache, so is the whole state.
  static constexpr std::size_t every = ~std::size_t{0};
  /// Requests so far to cache number `at`, only they change it, and what lies beyond.
  [[nodiscard]] std::int64_t reached(std::size_t at) const;
  /// Counts `times` times what was counted between two earlier moments; for segments that recur.
  void add(const Counts& later, const Counts& earlier, std::int64_t times);

  /// Demand misses so far in the first cache and the first TLB level. While it stays, accesses change nothing
  /// but recency there (and marks of dirty lines).
  [[nodiscard]] std::int64_t first_misses() const {
    const auto demand = [](const LevelCounts& c) { return c.missed(Cause::load) + c.missed(Cause::store); };
    return demand(levels_.front().counts) + (tlb_ ? demand(tlb_->levels.front().counts) : 0);
  }
  /// Misses and evictions so far in a TLB level; its accesses are not complete here.
  [[nodiscard]] const LevelCounts& tlb_counts(std::size_t at) const { return tlb_->levels[at].counts; }
  /// Page walks so far.
  [[nodiscard]] std::int64_t walks() const { return levels_.front().counts.accessed(Cause::walk); }
  /// Counts accesses that are not counted otherwise: those of WideEntrance, and those known to hit in the
  /// first cache and the first TLB level and to change nothing.
  void count(std::int64_t loads, std::int64_t stores) {
    accesses_[static_cast<unsigned>(Cause::load)] += loads;
    accesses_[static_cast<unsigned>(Cause::store)] += stores;
  }
  /// Whether accesses within one line may use WideEntrance, which does not count them.
  [[nodiscard]] bool wide_entrance() const { return first_ == Path::wide; }
  /// Whether the lines last used, as many as the first level has ways, are certainly in it, if every level is
  /// non-inclusive.
  [[nodiscard]] bool keeps_newest() const {
    return first_ != Path::full && !physical_ && machine_.levels.front().policy == Policy::lru;
  }
  template <bool with_tlb>
  class WideEntrance; ///< in hierarchy_wide.hpp
  /// Restores a state() of a hierarchy of the same description. Counts stay.
  void restore(const State& state);
  [[nodiscard]] const Level& level(std::size_t at) const { return levels_[at]; }
  /// Where page-table entries are read: table + 8 * page number; those n levels above at 2^56 n more.
  static constexpr std::uint64_t page_table = std::uint64_t{1} << 60, table_above = std::uint64_t{1} << 56;

  /// Places without an entry, of each TLB level and then of each cache level.
  [[nodiscard]] std::vector<std::int64_t> vacancies() const;

  Progress progress;                ///< of the current simulation, updated by the replay
  std::optional<Sampling> sampling; ///< set by a simulation that was sampled: its counts are estimates

private:
  /// How accesses are simulated, the same result faster: by request(); by Level::use() and insert(), of
  /// levels that are simple(); or by the vectors of WideSets.
  enum class Path { full, simple, wide };
  /// Whether a level writes back, allocates, does not prefetch, and has neither victims nor sectors.
  static bool simple(const LevelDescription& level);

  template <Cause cause>
  [[gnu::always_inline]] void access(std::uint64_t address, unsigned bytes) {
    if (address % wide_line + bytes <= wide_room_) return access_wide<cause>(address);
    lines(address >> shift_, (address + bytes - 1) >> shift_, cause);
  }
  /// Hits within a line of a wide entrance. The first entry of a set is its newest line.
  template <Cause cause>
  [[gnu::always_inline]] void access_wide(std::uint64_t address) {
    ++accesses_[static_cast<unsigned>(cause)];
    if (tlb_) translate(address, cause);
    Level::Entry* const set = levels_.front().wide().set_after(address & first_bits_);
    constexpr Level::Entry either = cause == Cause::load ? 1 : 0; // a store needs the line's mark, too
    const Level::Entry dirty = address >> (wide_shift - 1) | 1;
    if ((*set | either) != dirty) look_wide<cause>(set, address, dirty);
  }
  /// Of the lines of a wide entrance; a vector has as many bytes.
  static constexpr unsigned wide_shift = 6;
  static constexpr std::uint64_t wide_line = std::uint64_t{1} << wide_shift;
  /// Whether the line was the last used in its group of sets and, for a store, known as dirty; from now on it
  /// is.
  [[gnu::always_inline]] bool is_newest(std::uint64_t line, bool store) {
    Level::Entry& newest = newest_[line & newest_mask_];
    const Level::Entry other = newest ^ line << 1; // 0 or 1: the line, clean or dirty
    if (other - Level::Entry{store} <= 1 - Level::Entry{store}) return true;
    newest = line << 1 | Level::Entry{store};
    return false;
  }
  template <Cause cause>
  void look_wide(Level::Entry* set, std::uint64_t address, Level::Entry dirty);
  void translate(std::uint64_t address, Cause cause) {
    const std::uint64_t page = address >> tlb_->page_shift();
    if (!tlb_->translate(page, cause)) walk(page);
  }
  void lines(std::uint64_t line, std::uint64_t last, Cause cause);
  void translate_mixed(std::uint64_t address, Cause cause);
  void walk(std::uint64_t page, std::size_t last = 0);
  void translate_fetch(std::uint64_t address);
  void remove_fetched(std::size_t at, std::uint64_t address);
  void count_instructions(Counts& all) const;
  void add_instructions(const Counts& later, const Counts& earlier, std::int64_t times);
  void read_entry(std::uint64_t entry);
  void bring(std::uint64_t address, Cause cause, bool dirty);
  void bring_simple(std::size_t at, std::uint64_t address, Cause cause, bool dirty);
  void bring_wide(Level::Entry* set, std::uint64_t address, Cause cause, bool dirty);
  void bring_from_third(Level::Entry* set, std::uint64_t address, Cause cause, bool dirty);
  template <std::size_t at>
  void ask_wide(std::uint64_t address, Cause cause);
  void take_in_wide(std::size_t at, Level::Entry* set, Level::Entry entry);

  bool request(std::size_t at, std::uint64_t address, Cause cause, bool writes);
  bool missed(std::size_t at, std::uint64_t address, Cause cause, bool writes);
  void put(std::size_t at, std::uint64_t address, Cause cause, unsigned shift);
  void fill(std::size_t at, std::uint64_t address, bool dirty);
  void evict(std::size_t at, Level::Entry entry);
  std::uint64_t invalidate_above(std::size_t at, std::uint64_t address);
  void prefetch_after(std::size_t at, std::uint64_t line, Cause cause, bool missed);

  /// The private levels of a core that is not the current one. Its counts are those of the current one.
  struct Core {
    std::vector<Level> levels;
    std::vector<Prefetchers> prefetchers;
    std::optional<Tlb> tlb;
    std::vector<std::unordered_set<std::uint64_t>> lost; ///< by level: lines that other cores' stores removed
  };
  /// Who has stored to a block since any other core has requested it: no other core has a copy.
  struct Owner {
    std::uint64_t block = ~std::uint64_t{0}, core = 0;
  };
  static constexpr std::size_t owners = 1 << 12;
  static constexpr std::uint64_t tlb_seed = 64; ///< seeds of TLBs do not depend on the number of caches

  void change_core(std::uint64_t core);
  void begin(bool coherent);
  void swap_with(Core& core);
  void add_core();
  /// f() as each other core that has a line of the bytes in a private level.
  template <class F>
  void at_others(std::uint64_t address, unsigned shift, F&& f) {
    const std::uint64_t here = core_;
    for (std::uint64_t other = 0; other < cores_.size(); ++other) {
      if (other == here || !has_part(cores_[other], address, shift)) continue;
      change_core(other);
      f();
      change_core(here);
    }
  }
  [[nodiscard]] bool has_part(const Core& core, std::uint64_t address, unsigned shift) const;
  void take_from_others(std::uint64_t address);
  void read_from_others(std::uint64_t address);
  void give(std::uint64_t block, bool keep);
  std::uint64_t remove_within(std::size_t levels, std::uint64_t address, unsigned shift, unsigned unit);
  void save_cores(State& words) const;
  void restore_cores(std::span<const std::uint64_t> words);
  [[nodiscard]] bool lost(std::size_t at, std::uint64_t line) const {
    return coherent() && at < private_ && lost_[at].contains(line);
  }
  [[nodiscard]] bool coherent() const { return !cores_.empty(); }

  MachineDescription machine_;
  std::vector<Level> levels_;
  std::vector<Prefetchers> prefetchers_; ///< of each level
  std::optional<Tlb> tlb_;
  std::vector<Instructions> instructions_;       ///< by core; empty: nothing was fetched
  std::optional<Distances> distances_;           ///< of a family, in place of the level
  std::optional<PhysicalPages> physical_;        ///< none: physical addresses are the virtual ones
  unsigned shift_;                               ///< log2 of the first level's line
  Path first_ = Path::full, below_ = Path::full; ///< of accesses, and of misses of the first level
  static constexpr std::size_t most_wide = 4;    ///< levels, if below_ is wide
  std::uint64_t wide_room_ = 0;                  ///< wide_line if first_ is wide, else 0
  std::uint64_t first_bits_; ///< if first_ is wide, the bits of an address that are its set
  /// If first_ is simple: by group of sets of the first level, the line used last, to use which again changes
  /// nothing. 2 * line, 1 more if it is known to be dirty.
  std::array<Level::Entry, 64> newest_;
  std::uint64_t newest_mask_;          ///< lines of one set are in one group
  std::int64_t accesses_[2] = {0, 0};  ///< loads and stores not yet among the first level's counts
  std::int64_t crossings_[2] = {0, 0}; ///< extra line accesses of loads and stores that cross a line
  LevelCounts memory_;
  std::size_t private_;                    ///< levels that each core has for itself
  std::size_t boundary_ = ~std::size_t{0}; ///< private_, once several cores are at work
  unsigned block_shift_ = 0; ///< log2 of what one core alone can have stored to: a line of its last level
  std::uint64_t core_ = 0;
  std::vector<Core> cores_; ///< by number, without the current one's; empty: only core 0 was at work
  std::vector<std::unordered_set<std::uint64_t>> lost_; ///< of the current core
  std::vector<Owner> owners_;                           ///< the block's lowest bits select the place
};

/// The same counts and final state as calling `pass()` `passes` times, for a pass that replays the same
/// accesses each time. Once the state after a pass equals the state after an earlier one, what lies between
/// recurs and is counted at once. The whole state is compared, no hash, so this is exact; a state
/// that never recurs (random replacement) is simulated to the end. Keeps one state (Brent's cycle search).
/// `progress` is updated after each pass, if the passes are the whole simulation. With `first`, only that
/// many caches are compared: a state recurs if, besides, no request has reached the next one meanwhile.
template <class Pass>
void repeat(Hierarchy& caches, std::int64_t passes, Pass&& pass, const Progress* progress = nullptr,
            std::size_t first = Hierarchy::every) {
  const auto reached = [&] { return first < caches.levels() ? caches.reached(first) : 0; };
  Hierarchy::State mark;
  std::int64_t reached_at_mark = 0;
  Counts at_mark;
  std::int64_t marked = 0, next_mark = 1;
  for (std::int64_t done = 1; done <= passes; ++done) {
    pass();
    if (progress) progress->tell(static_cast<double>(done) / static_cast<double>(passes));
    if (done == passes) return;
    if (marked > 0 && reached() == reached_at_mark && caches.is(mark, first)) {
      const std::int64_t period = done - marked, left = passes - done;
      caches.add(caches.counts(), at_mark, left / period);
      for (std::int64_t i = 0; i < left % period; ++i)
        pass();
      return;
    }
    if (done == next_mark) {
      mark.clear();
      caches.save(mark, first);
      reached_at_mark = reached();
      at_mark = caches.counts();
      marked = done;
      next_mark *= 2;
    }
  }
}

} // namespace recount::model
