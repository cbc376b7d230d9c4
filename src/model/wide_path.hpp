// Loads and stores where levels are kept in vectors; only loops that are compiled for AVX-512 include it.
#pragma once

#include "model/hierarchy.hpp"
#include "model/wide_lookup.hpp"

namespace recount::model {

/// Loads and stores within a line, if Hierarchy::has_wide_path(). Holds what an access needs by value, so
/// that loops keep it in registers; while it is used, nothing else is. What hits in the second level of cache
/// or TLB is counted in a Tally.
template <bool with_tlb>
class Hierarchy::WidePath {
public:
  struct Tally {
    std::int64_t lines[2] = {0, 0}; ///< hits in the second level, of stores and of loads
    std::int64_t unevicted = 0;     ///< of these, without an eviction from the first level
    std::int64_t pages = 0, loaded_pages = 0, page_evictions = 0;
  };
  explicit WidePath(Hierarchy& caches) : caches_(caches), first_(caches.levels_.front().wide().view()) {
    if (caches.levels_.size() > 1 && caches.levels_[1].is_wide() && simple(caches.machine().levels[1]) &&
        caches.levels_[1].shift() == wide_shift)
      second_ = caches.levels_[1].wide().view();
    if constexpr (with_tlb) {
      Tlb& tlb = *caches.tlb_;
      page_shift_ = tlb.page_shift();
      if (!tlb.wide() || tlb.levels.size() < 2) return;
      pages_ = tlb.levels[0].wide().view();
      if (pages_.entries) more_pages_ = tlb.levels[1].wide().view();
    }
  }
  /// Simulates an access as load() or store() does, without counting it. Returns false and does nothing if it
  /// crosses a line. `access`: twice the number of bytes, 1 more for a load.
  [[gnu::always_inline]] RECOUNT_AVX512 bool put(std::uint64_t address, std::uint64_t access,
                                                 Tally& tally) const {
    if (2 * (address % wide_line) + access > 2 * wide_line + 1) [[unlikely]]
      return false;
    const unsigned load = access & 1;
    if constexpr (with_tlb) translate(address >> page_shift_, load, tally);
    const std::uint64_t line = address >> wide_shift;
    Level::Entry* const set = first_.set_of(line);
    const Level::Entry dirty = line << 1 | 1; // a load needs the line, a store its mark, too
    if ((*set | Level::Entry{load}) != dirty && !wide::use(set, first_.shape, line, load == 0))
      miss(set, address, load, tally);
    return true;
  }
  void count(const Tally& tally) const {
    Hierarchy& caches = caches_;
    caches.levels_[0].counts.evictions += tally.lines[0] + tally.lines[1] - tally.unevicted;
    add(caches.levels_, tally.lines[0], tally.lines[1]);
    if constexpr (with_tlb) {
      caches.tlb_->levels[0].counts.evictions += tally.page_evictions;
      add(caches.tlb_->levels, tally.pages - tally.loaded_pages, tally.loaded_pages);
    }
  }

private:
  static void add(std::vector<Level>& levels, std::int64_t stored, std::int64_t loaded) {
    for (const auto& [cause, times] : {std::pair(Cause::load, loaded), std::pair(Cause::store, stored)}) {
      if (times == 0) continue;
      levels[0].counts.misses[number(cause)] += times;
      levels[1].counts.accesses[number(cause)] += times;
    }
  }
  static Cause cause_of(unsigned load) { return load ? Cause::load : Cause::store; }
  [[gnu::always_inline]] RECOUNT_AVX512 void miss(Level::Entry* set, std::uint64_t address, unsigned load,
                                                  Tally& tally) const {
    const std::uint64_t line = address >> wide_shift;
    if (!second_.entries || !wide::use(second_.set_of(line), second_.shape, line, false))
      return caches_.miss_first(address, cause_of(load), load == 0);
    ++tally.lines[load];
    const Level::Entry evicted = wide::insert(set, first_.shape, (line << 1 | 1) - load);
    if ((evicted & 1) == 0) return;
    ++tally.unevicted;
    if (evicted != Level::empty) caches_.evict(0, evicted);
  }
  [[gnu::always_inline]] RECOUNT_AVX512 void translate(std::uint64_t page, unsigned load,
                                                       Tally& tally) const {
    if (caches_.tlb_->is_newest(page)) return;
    Level::Entry* set = nullptr;
    if (more_pages_.entries) {
      set = pages_.set_of(page);
      if (wide::use(set, pages_.shape, page, false)) return;
    }
    if (!set || !wide::use(more_pages_.set_of(page), more_pages_.shape, page, false)) {
      if (!caches_.tlb_->translate_older(page, cause_of(load))) caches_.walk(page);
      return;
    }
    ++tally.pages;
    tally.loaded_pages += load;
    if (wide::insert(set, pages_.shape, page << 1) != Level::empty) ++tally.page_evictions;
  }

  Hierarchy& caches_;
  WideSets::View first_, second_, pages_, more_pages_; ///< without entries: not used
  unsigned page_shift_ = 0;
};

} // namespace recount::model
