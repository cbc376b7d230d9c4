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
#include "model/progress.hpp"
#include "model/sampling.hpp"
#include "model/tlb.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

namespace recount::model {

/// A set-associative hierarchy of data caches, starting cold. Addresses are plain numbers: nothing is
/// dereferenced. load() and store() allocate nothing and make no virtual call. Not thread-safe: one per
/// thread.
///
/// What happens, in this order. An access is split at line ends; each line is one access to the first level.
/// With a TLB the page is looked up first, and a miss in all its levels reads one page-table entry through
/// the first cache level. A miss asks the next level (which does the same in turn), then allocates a way,
/// evicting a line if no place is empty, then takes the line in. A dirty line that leaves is written to the
/// next level: that counts there under Cause::write_back, never as demand; it is a use of the line if the
/// level holds it, else the line is taken in without asking further down.
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
  /// Counts accesses that are not counted otherwise: those of enter() and of WideEntrance, and those known
  /// to hit in the first cache and the first TLB level and to change nothing.
  void count(std::int64_t loads, std::int64_t stores) {
    accesses_[static_cast<unsigned>(Cause::load)] += loads;
    accesses_[static_cast<unsigned>(Cause::store)] += stores;
  }
  /// How an access within one line may go in, not counted: by WideEntrance (wide),
  /// by enter() (packed), or by load() and store() alone.
  [[nodiscard]] Level::Kind entrance() const { return direct_ ? first_ : Level::Kind::other; }
  template <Cause cause, bool with_tlb>
  [[gnu::always_inline]] void enter(std::uint64_t address) {
    constexpr bool store = cause == Cause::store;
    const std::uint64_t line = address >> shift_;
    if constexpr (with_tlb) translate(address, cause);
    if (!is_newest<store>(line) && !levels_.front().packed().use_eight(line, store))
      bring(address, cause, store);
  }
  /// The same where only the data tell which it is.
  template <bool with_tlb>
  [[gnu::always_inline]] void enter(std::uint64_t address, bool store) {
    const Cause cause = store ? Cause::store : Cause::load;
    const std::uint64_t line = address >> shift_;
    if constexpr (with_tlb) translate(address, cause);
    if (!is_newest(line, store) && !levels_.front().packed().use_eight(line, store))
      bring(address, cause, store);
  }
  template <bool with_tlb>
  class WideEntrance; ///< in hierarchy_wide.hpp
  /// Whether an access lies within a line of the first level.
  [[nodiscard]] bool within_line(std::uint64_t address, unsigned bytes) const {
    return address >> shift_ == (address + bytes - 1) >> shift_;
  }
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
  // Hits in a simple hierarchy are settled here, without a call.
  template <Cause cause>
  [[gnu::always_inline]] void access(std::uint64_t address, unsigned bytes) {
    if (address % wide_line + bytes <= wide_room_) return access_wide<cause>(address);
    if ((address & within_) + bytes > room_) [[unlikely]]
      return lines(address >> shift_, (address + bytes - 1) >> shift_, cause);
    ++accesses_[static_cast<unsigned>(cause)];
    if (tlb_) translate(address, cause);
    const std::uint64_t line = address >> shift_;
    if (is_newest<cause == Cause::store>(line)) return;
    first_ == Level::Kind::packed ? look<cause, true>(line, address) : look<cause, false>(line, address);
  }
  /// Within a line of a wide entrance. The first place of a set tells which line is its newest.
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
  /// Whether the line was the last used in its set, if it must be dirty known as dirty; from now on it is.
  template <bool store>
  [[gnu::always_inline]] bool is_newest(std::uint64_t line) {
    Level::Entry& newest = newest_[line & newest_mask_];
    if (store ? newest == (line << 1 | 1) : newest >> 1 == line) return true;
    newest = line << 1 | Level::Entry{store};
    return false;
  }
  /// The same without a branch on which it is.
  [[gnu::always_inline]] bool is_newest(std::uint64_t line, bool store) {
    Level::Entry& newest = newest_[line & newest_mask_];
    const Level::Entry other = newest ^ line << 1; // 0 or 1: the line, clean or dirty
    if (other - Level::Entry{store} <= 1 - Level::Entry{store}) return true;
    newest = line << 1 | Level::Entry{store};
    return false;
  }
  /// Apart, so that what surrounds it keeps its registers.
  template <Cause cause, bool eight>
  [[gnu::noinline]] void look(std::uint64_t line, std::uint64_t address) {
    constexpr bool store = cause == Cause::store;
    Level& first = levels_.front();
    if (!(eight ? first.packed().use_eight(line, store) : first.use(line, store)))
      bring(address, cause, store);
  }
  template <Cause cause>
  void look_wide(Level::Entry* set, std::uint64_t address, Level::Entry dirty);
  void translate(std::uint64_t address, Cause cause) {
    const std::uint64_t page = address >> tlb_->page_shift();
    std::uint64_t& newest = newest_pages_[page & newest_page_mask_];
    if (page == newest) return;
    newest = page;
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

  /// What a core has for itself, while it is not the current one. Its counts are those of the current one.
  struct Core {
    std::vector<Level> levels; ///< the private ones
    std::vector<Prefetchers> prefetchers;
    std::optional<Tlb> tlb;
    std::array<std::uint64_t, 64> newest_pages{};
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

  static constexpr std::uint64_t no_page = ~std::uint64_t{0};
  MachineDescription machine_;
  std::vector<Level> levels_;
  std::vector<Prefetchers> prefetchers_; ///< of each level
  std::optional<Tlb> tlb_;
  std::vector<Instructions> instructions_; ///< by core; empty: nothing was fetched
  std::optional<Distances> distances_;     ///< of a family, in place of the level
  unsigned shift_;                         ///< log2 of the first level's line
  Level::Kind first_;                      ///< whose use_eight() serves the first level; `other`: use()
  std::optional<PhysicalPages> physical_;  ///< none: physical addresses are the virtual ones
  bool simple_;                            ///< the first level writes back, allocates and does not prefetch
  bool direct_;                            ///< and addresses are physical ones
  bool mixed_;                             ///< pages of two sizes
  bool simple_below_;                      ///< so do the others, and none is exclusive
  bool wide_; ///< simple_below_, lines of wide_line, and all levels, at most most_wide, wide_lru()
  static constexpr std::size_t most_wide = 4;
  bool wide_second_;     ///< the first two are simple and the second wide_lru(), whatever lies below
  std::uint64_t within_; ///< the bits of an address within a line of the first level
  std::uint64_t room_, wide_room_; ///< the first level's line where direct_ (and the entrance wide), else 0
  std::uint64_t first_bits_;       ///< where the entrance is wide, the bits of an address that are its set
  /// Of each group of sets of the first TLB level, the page used last: to use it again changes nothing.
  std::array<std::uint64_t, 64> newest_pages_;
  std::uint64_t newest_page_mask_ = 0; ///< pages of one set have one place
  /// Of each group of sets of the first level, the line used last: to use it again changes nothing. 2 * line,
  /// 1 more where it is known to be dirty. Not where the entrance is wide: the first place of a set tells it.
  std::array<Level::Entry, 64> newest_;
  std::uint64_t newest_mask_;          ///< lines of one set have one place
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

} // namespace recount::model
