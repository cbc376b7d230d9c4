// The cache hierarchy: replays loads and stores and counts what each level does. Exact; see
// recount-machines(5).
#pragma once

#include "model/counts.hpp"
#include "model/level.hpp"
#include "model/machine.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

namespace recount::model {

// What a core has for its instructions: a first-level cache and a TLB.

/// Lines and pages of instructions. What it counts is under Cause::fetch. Not thread-safe.
struct Instructions {
  /// `seed`: of the cache; the TLB levels have the next ones.
  /// Pages of the TLB, if there is one, have 2^page_lines lines; `groups`: of sets, a power of two.
  Instructions(const InstructionDescription& description, std::uint64_t seed, unsigned page_lines,
               std::uint64_t groups);

  void reset_counters();
  void clear();
  void save(std::vector<std::uint64_t>& words) const;
  /// Whether the line was the last fetched of its group of sets, and its page the last: then the fetch is
  /// counted, and changes nothing else.
  [[nodiscard]] bool is_newest(std::uint64_t line) {
    const bool same_page = line >> page_lines_ == std::exchange(page_, line >> page_lines_);
    const bool newest = std::exchange(newest_[line & newest_mask_], line) == line && same_page && lru_;
    repeated += newest ? 1 : 0;
    return newest;
  }
  /// A line has left that is_newest() may hold.
  void forget() { newest_.fill(none); }

  Level cache;
  std::vector<Level> tlb;    ///< as InstructionDescription::tlb; unused where that is shared
  std::int64_t repeated = 0; ///< hits in the cache and the first level of the TLB, not among their counts
  static constexpr std::size_t max_groups = 64;

private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::array<std::uint64_t, max_groups> newest_;
  std::uint64_t newest_mask_, page_ = none;
  unsigned page_lines_;
  bool lru_;
};

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
  void report(double share) const {
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

  /// Software fetches the line that holds `address`: neither load nor store, without translation.
  void prefetch(std::uint64_t address) { read_line(address, Cause::prefetch); }
  /// The line that holds `address` leaves all caches of all cores: written back to memory, if it is dirty.
  void flush(std::uint64_t address);
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
  [[nodiscard]] const Level& level(std::size_t at) const { return levels_[at]; }
  /// Misses and evictions so far in a TLB level; its accesses are not complete here.
  [[nodiscard]] const LevelCounts& tlb_counts(std::size_t at) const { return tlb_->levels[at].counts; }
  [[nodiscard]] const MachineDescription& machine() const { return machine_; }

  /// Everything that decides what further accesses will count: two equal states have equal futures.
  using State = std::vector<std::uint64_t>;
  [[nodiscard]] State state() const { return state(levels_.size()); }
  /// Of the TLBs and the first so many caches. While no request reaches the next one, the rest is the same.
  [[nodiscard]] State state(std::size_t caches) const;
  /// Requests so far to cache number `at`, 0 beyond the last.
  [[nodiscard]] std::int64_t requests(std::size_t at) const;
  /// Counts `times` times what was counted between two earlier moments; for segments that recur.
  void add(const Counts& later, const Counts& earlier, std::int64_t times);

  /// Demand misses so far in the first cache and the first TLB level. While it stays, accesses change nothing
  /// but recency there (and marks of dirty lines).
  [[nodiscard]] std::int64_t first_misses() const {
    const auto demand = [](const LevelCounts& c) { return c.missed(Cause::load) + c.missed(Cause::store); };
    return demand(levels_.front().counts) + (tlb_ ? demand(tlb_->levels.front().counts) : 0);
  }
  /// Page walks so far.
  [[nodiscard]] std::int64_t walks() const { return levels_.front().counts.accessed(Cause::walk); }
  /// Counts accesses known to hit in the first cache and the first TLB level and to change nothing.
  void count(std::int64_t loads, std::int64_t stores) {
    accesses_[number(Cause::load)] += loads;
    accesses_[number(Cause::store)] += stores;
  }
  /// Whether the lines last used, as many as the first level has ways, are certainly in it, if every level is
  /// non-inclusive.
  [[nodiscard]] bool keeps_newest() const {
    return first_ != Path::full && !physical_ && machine_.levels.front().policy == Policy::lru;
  }
  /// Whether loads and stores within a line may use WidePath.
  [[nodiscard]] bool has_wide_path() const { return first_ == Path::wide; }
  template <bool with_tlb>
  class WidePath; ///< in wide_path.hpp
  /// Where page-table entries are read: table + 8 * page number; those n levels above at 2^56 n more.
  static constexpr std::uint64_t page_table = std::uint64_t{1} << 60, table_above = std::uint64_t{1} << 56;

  /// Places without an entry, of each TLB level and then of each cache level.
  [[nodiscard]] std::vector<std::int64_t> vacancies() const;

  Progress progress;                ///< of the current simulation, updated by the replay
  std::optional<Sampling> sampling; ///< set by a simulation that was sampled: its counts are estimates

private:
  /// How accesses are simulated, with the same result: by request(); by Level::use() and insert(), of levels
  /// that are simple(); or by the vectors of WideSets.
  enum class Path { full, simple, wide };
  /// Whether a level writes back, allocates, does not prefetch, and has no victims.
  static bool simple(const LevelDescription& level);

  template <Cause cause>
  [[gnu::always_inline]] void access(std::uint64_t address, unsigned bytes) {
    if (first_ != Path::wide || address % wide_line + bytes > wide_line)
      return lines(address >> shift_, (address + bytes - 1) >> shift_, cause);
    ++accesses_[number(cause)];
    if (tlb_) translate(address, cause);
    Level::Entry* const set = levels_.front().wide().set_after(address & first_bits_);
    if (!is_first<cause>(set, address)) find_wide<cause>(set, address);
  }
  /// Whether the line is the newest of its set in the first level and, for a store, known as dirty.
  template <Cause cause>
  [[gnu::always_inline]] static bool is_first(const Level::Entry* set, std::uint64_t address) {
    constexpr Level::Entry either = cause == Cause::load ? 1 : 0; // a load accepts a clean line, too
    return (*set | either) == (address >> (wide_shift - 1) | 1);
  }
  /// Lines of the wide path have as many bytes as a vector.
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
  void find_wide(Level::Entry* set, std::uint64_t address);
  void translate(std::uint64_t address, Cause cause) {
    const std::uint64_t page = address >> tlb_->page_shift();
    if (!tlb_->translate(page, cause)) walk(page);
  }
  void lines(std::uint64_t line, std::uint64_t last, Cause cause);
  void translate_mixed(std::uint64_t address, Cause cause);
  void walk(std::uint64_t page, std::size_t last = 0);
  Instructions& instructions();
  void translate_fetch(std::uint64_t address);
  void remove_fetched(std::size_t at, std::uint64_t address);
  void count_instructions(Counts& all) const;
  void add_instructions(const Counts& later, const Counts& earlier, std::int64_t times);
  void read_line(std::uint64_t address, Cause cause);
  void miss_first(std::uint64_t address, Cause cause, bool dirty);
  void miss_simple(std::uint64_t address, Cause cause, bool dirty);

  bool request(std::size_t at, std::uint64_t address, Cause cause, bool writes);
  bool miss(std::size_t at, std::uint64_t address, Cause cause, bool writes);
  void receive(std::size_t at, std::uint64_t address, Cause cause, unsigned shift);
  void fill(std::size_t at, std::uint64_t address, bool dirty);
  void evict(std::size_t at, Level::Entry entry);
  bool invalidate_above(std::size_t at, std::uint64_t address);
  void prefetch_after(std::size_t at, std::uint64_t line, Cause cause, bool missed);

  /// The private levels of a core that is not the current one. Its counts are those of the current one.
  struct Core {
    std::vector<Level> levels;
    std::vector<Prefetchers> prefetchers;
    std::optional<Tlb> tlb;
    std::vector<std::unordered_set<std::uint64_t>> lost; ///< by level: lines that other cores' stores removed
  };
  /// The core that has stored to a block since any other has requested it: no other core has a copy.
  struct Owner {
    std::uint64_t block = ~std::uint64_t{0}, core = 0;
  };
  static constexpr std::size_t owner_entries = 1 << 12;
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
  void invalidate_others(std::uint64_t address);
  void clean_others(std::uint64_t address);
  void publish(std::uint64_t block, bool keep);
  bool remove_within(std::size_t levels, std::uint64_t address, unsigned shift);
  void save_cores(State& words) const;
  [[nodiscard]] bool lost(std::size_t at, std::uint64_t line) const {
    return coherent() && at < private_ && lost_[at].contains(line);
  }
  [[nodiscard]] bool coherent() const { return !cores_.empty(); }

  MachineDescription machine_;
  std::vector<Level> levels_;
  std::vector<Prefetchers> prefetchers_; ///< of each level
  std::optional<Tlb> tlb_;
  std::vector<Instructions> instructions_; ///< by core; empty: nothing was fetched
  std::optional<Distances> distances_;     ///< of a family, in place of the level
  std::optional<PhysicalPages> physical_;  ///< none: physical addresses are the virtual ones
  unsigned shift_;                         ///< log2 of the first level's line
  Path first_ = Path::full;
  bool simple_below_ = false; ///< misses of the first level take miss_simple()
  std::uint64_t first_bits_;  ///< bits of an address that are its set, if first_ is wide
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
/// `progress` is updated after each pass, if the passes are the whole simulation. Compared are the caches
/// from the first one on that the passes since the last state made requests to, at most `levels`: what no
/// request reached is as it was.
template <class Pass>
void repeat(Hierarchy& caches, std::int64_t passes, Pass&& pass, const Progress* progress = nullptr,
            std::size_t levels = ~std::size_t{0}) {
  levels = std::min(levels, caches.levels());
  Hierarchy::State mark;
  Counts at_mark;
  std::int64_t marked = 0, next_mark = 1, requests = 0;
  std::size_t compared = 1, reached = 1; // levels: at the mark; since then
  std::vector<std::int64_t> before(levels + 1);
  const auto note_requests = [&] {
    for (std::size_t at = 1; at <= levels; ++at)
      if (const std::int64_t old = std::exchange(before[at], caches.requests(at)); old != before[at])
        reached = std::max(reached, at + 1);
  };
  note_requests();
  reached = 1;
  for (std::int64_t done = 1; done <= passes; ++done) {
    pass();
    if (progress) progress->report(static_cast<double>(done) / static_cast<double>(passes));
    if (done == passes) return;
    note_requests();
    if (marked > 0 && before[compared] == requests && caches.state(compared) == mark) {
      const std::int64_t period = done - marked, left = passes - done;
      caches.add(caches.counts(), at_mark, left / period);
      for (std::int64_t i = 0; i < left % period; ++i)
        pass();
      return;
    }
    if (done < next_mark) continue;
    if (reached <= levels) {
      compared = reached;
      mark = caches.state(compared);
      requests = before[compared];
      at_mark = caches.counts();
      marked = done;
      next_mark = 2 * done;
    }
    reached = 1;
  }
}

} // namespace recount::model
