// The way into a hierarchy whose first level is kept in vectors.
#pragma once

#include "model/hierarchy.hpp"
#include "model/wide_lookup.hpp"

namespace recount::model {

/// The way in for loads and stores alike, with what it needs in registers; while it is used, nothing else is.
/// What the second level of cache or TLB has is settled here. Only if wide_entrance().
template <bool with_tlb>
class Hierarchy::WideEntrance {
public:
  /// What was settled without being counted.
  struct Settled {
    std::int64_t lines[2] = {0, 0}; ///< of the second level, for stores and for loads
    std::int64_t kept = 0;          ///< without counting an eviction
    std::int64_t pages = 0, loaded_pages = 0, page_evictions = 0;
  };
  explicit WideEntrance(Hierarchy& caches) : caches_(caches), first_(*caches.levels_.front().wide().view()) {
    first_sets_ = first_.mask << wide_shift;
    if (caches.levels_.size() > 1 && caches.levels_[1].wide_lru() && simple(caches.machine().levels[1]) &&
        caches.levels_[1].shift() == wide_shift) {
      second_ = view_of(caches.levels_[1]);
      if (second_.fold != SetIndex::no_fold) second_ = {};
    }
    second_sets_ = second_.mask << wide_shift;
    if (caches.below_ == Path::wide && caches.levels_.size() > 2) {
      third_ = view_of(caches.levels_[2]);
      third_shift_ = caches.levels_[2].shift();
      if (caches.machine().levels[2].sets() < sets_beside) third_ = {};
    }
    if constexpr (with_tlb) {
      Tlb& tlb = *caches.tlb_;
      page_shift_ = tlb.page_shift();
      if (!tlb.wide() || tlb.levels.size() < 2) return;
      pages_ = view_of(tlb.levels[0]);
      more_pages_ = pages_.entries ? view_of(tlb.levels[1]) : WideSets::View{};
    }
  }
  /// As load() or store(), not counted. False: nothing is done, as the access crosses a line. `access`: twice
  /// its bytes, 1 more for a load. `ahead`: bytes to an address that will be put soon, where one is known:
  /// if this one misses, what a large third level has of that one is asked for.
  [[gnu::always_inline]] RECOUNT_BY_EIGHT bool put(std::uint64_t address, std::uint64_t access,
                                                   Settled& settled, std::int64_t ahead = 0) const {
    if (2 * (address % wide_line) + access > 2 * wide_line + 1) [[unlikely]]
      return false;
    const unsigned load = access & 1;
    if constexpr (with_tlb) translate(address, load, settled);
    Level::Entry* const set = at(first_.entries, address & first_sets_);
    const std::uint64_t line = address >> wide_shift;
    const Level::Entry dirty = line << 1 | 1; // a load needs the line, a store its mark, too
    if ((*set | Level::Entry{load}) != dirty && !wide::use(set, first_.shape, line, load == 0))
      bring(set, address, load, settled, ahead);
    return true;
  }
  void count(const Settled& settled) const {
    Hierarchy& caches = caches_;
    caches.levels_[0].counts.evictions += settled.lines[0] + settled.lines[1] - settled.kept;
    add(caches.levels_, settled.lines[0], settled.lines[1]);
    if constexpr (with_tlb) {
      caches.tlb_->levels[0].counts.evictions += settled.page_evictions;
      add(caches.tlb_->levels, settled.pages - settled.loaded_pages, settled.loaded_pages);
    }
  }

private:
  static WideSets::View view_of(Level& level) { return level.wide().view().value_or(WideSets::View{}); }
  static void add(std::vector<Level>& levels, std::int64_t stored, std::int64_t loaded) {
    for (const auto& [cause, times] : {std::pair(Cause::load, loaded), std::pair(Cause::store, stored)}) {
      if (times == 0) continue;
      levels[0].counts.misses[number(cause)] += times;
      levels[1].counts.accesses[number(cause)] += times;
    }
  }
  /// The set that begins so many bytes after the first one.
  static Level::Entry* at(Level::Entry* entries, std::uint64_t bytes) {
    return reinterpret_cast<Level::Entry*>(reinterpret_cast<char*>(entries) + bytes);
  }
  static Cause cause_of(unsigned load) { return load ? Cause::load : Cause::store; }
  [[gnu::always_inline]] RECOUNT_BY_EIGHT void bring(Level::Entry* set, std::uint64_t address, unsigned load,
                                                     Settled& settled, std::int64_t ahead) const {
    const std::uint64_t line = address >> wide_shift;
    const Level::Entry dirty = line << 1 | 1;
    Level::Entry* const there = at(second_.entries, address & second_sets_);
    if (third_.entries && ahead != 0) foresee(address + static_cast<std::uint64_t>(ahead));
    if (!second_.entries) return caches_.bring(address, cause_of(load), load == 0);
    if ((*there | 1) != dirty && !wide::use(there, second_.shape, line, false))
      return caches_.below_ == Path::wide ? caches_.bring_from_third(set, address, cause_of(load), load == 0)
                                          : caches_.bring(address, cause_of(load), load == 0);
    ++settled.lines[load];
    const Level::Entry leaves = wide::insert(set, first_.shape, dirty - load);
    if ((leaves & 1) == 0) return;
    ++settled.kept;
    if (leaves != Level::empty) caches_.evict(0, leaves);
  }
  [[gnu::always_inline]] void foresee(std::uint64_t address) const {
    const Level::Entry* const set = third_.set_of(address >> third_shift_);
    __builtin_prefetch(set);
    if (third_.shape.second != 0) __builtin_prefetch(set + third_.shape.second);
  }
  [[gnu::always_inline]] RECOUNT_BY_EIGHT void translate(std::uint64_t address, unsigned load,
                                                         Settled& settled) const {
    const std::uint64_t page = address >> page_shift_;
    if (caches_.tlb_->is_newest(page)) return;
    if (!more_pages_.entries) {
      if (!caches_.tlb_->translate_older(page, cause_of(load))) caches_.walk(page);
      return;
    }
    Level::Entry* const set = pages_.set_of(page);
    if (wide::use(set, pages_.shape, page, false)) return;
    if (!wide::use(more_pages_.set_of(page), more_pages_.shape, page, false)) {
      if (!caches_.tlb_->translate_older(page, cause_of(load))) caches_.walk(page);
      return;
    }
    ++settled.pages;
    settled.loaded_pages += load;
    if (wide::insert(set, pages_.shape, page << 1) != Level::empty) ++settled.page_evictions;
  }

  Hierarchy& caches_;
  static constexpr std::int64_t sets_beside = 2048; ///< a level with so many is large
  WideSets::View first_, second_{}, third_{}, pages_{},
      more_pages_{};                       ///< no entries: not by way of it; third_: not large
  std::uint64_t first_sets_, second_sets_; ///< bits of an address that are the set, which has wide_line
  unsigned third_shift_ = 0, page_shift_ = 0;
};

} // namespace recount::model
