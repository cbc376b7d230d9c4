// The way into a hierarchy whose first level is kept in vectors.
#pragma once

#include "model/hierarchy.hpp"
#include "model/wide_lookup.hpp"

namespace recount::model {

template <Cause cause, bool with_tlb>
[[gnu::always_inline]] RECOUNT_BY_EIGHT inline void Hierarchy::enter_wide(std::uint64_t address) {
  constexpr bool store = cause == Cause::store;
  const std::uint64_t line = address >> shift_;
  if constexpr (with_tlb) translate(address, cause);
  Level::Entry* const set = levels_.front().wide().eight(line);
  if ((store ? *set != (line << 1 | 1) : *set >> 1 != line) && !wide::use(set, line, store))
    bring(address, cause, store);
}

/// The way in for loads and stores alike, with what it needs in registers; while it is used, nothing else is.
/// What the second level of cache or TLB has is settled here.
template <bool with_tlb>
class Hierarchy::WideEntrance {
public:
  /// What was settled without being counted.
  struct Settled {
    std::int64_t lines = 0, loaded = 0, evictions = 0; ///< of the second level, of these for loads
    std::int64_t pages = 0, loaded_pages = 0, page_evictions = 0;
  };
  /// Only where entrance() is wide.
  explicit WideEntrance(Hierarchy& caches)
      : caches_(caches),
        first_(*caches.levels_.front().wide().view()),
        shift_(caches.shift_),
        bytes_(std::uint64_t{1} << shift_) {
    if (caches.wide_ && caches.levels_.size() > 1) {
      second_ = view_of(caches.levels_[1]);
      if (second_.fold != SetIndex::no_fold) second_ = {};
      second_shift_ = caches.levels_[1].shift();
    }
    if constexpr (with_tlb) {
      Tlb& tlb = *caches.tlb_;
      page_shift_ = tlb.page_shift();
      if (!tlb.wide() || tlb.levels.size() < 2) return;
      pages_ = view_of(tlb.levels[0]);
      more_pages_ = pages_.entries ? view_of(tlb.levels[1]) : WideSets::View{};
    }
  }
  /// As load() or store(), not counted. False: nothing is done, as the access crosses a line. `load`: 0 or 1.
  [[gnu::always_inline]] RECOUNT_BY_EIGHT bool put(std::uint64_t address, unsigned bytes, unsigned load,
                                                   Settled& settled) const {
    if ((address & (bytes_ - 1)) + bytes > bytes_) [[unlikely]]
      return false;
    if constexpr (with_tlb) translate(address, load, settled);
    const std::uint64_t line = address >> shift_;
    Level::Entry* const set = first_.entries + (line & first_.mask) * wide::lanes;
    const Level::Entry dirty = line << 1 | 1; // a load needs the line, a store its mark, too
    if ((*set | Level::Entry{load}) != dirty && !wide::use(set, line, load == 0))
      bring(set, address, load, dirty - load, settled);
    return true;
  }
  void count(const Settled& settled) const {
    Hierarchy& caches = caches_;
    caches.levels_[0].counts.evictions += settled.evictions;
    add(caches.levels_, settled.lines, settled.loaded);
    if constexpr (with_tlb) {
      caches.tlb_->levels[0].counts.evictions += settled.page_evictions;
      add(caches.tlb_->levels, settled.pages, settled.loaded_pages);
    }
  }

private:
  static WideSets::View view_of(Level& level) { return level.wide().view().value_or(WideSets::View{}); }
  static void add(std::vector<Level>& levels, std::int64_t all, std::int64_t loaded) {
    for (const auto& [cause, times] :
         {std::pair(Cause::load, loaded), std::pair(Cause::store, all - loaded)}) {
      if (times == 0) continue;
      levels[0].counts.misses[number(cause)] += times;
      levels[1].counts.accesses[number(cause)] += times;
    }
  }
  static Cause cause_of(unsigned load) { return load ? Cause::load : Cause::store; }
  [[gnu::always_inline]] RECOUNT_BY_EIGHT void bring(Level::Entry* set, std::uint64_t address, unsigned load,
                                                     Level::Entry entry, Settled& settled) const {
    const std::uint64_t line = address >> second_shift_;
    Level::Entry* const there = second_.low_set_of(line);
    if (!second_.entries || (*there >> 1 != line && !wide::use(there, second_.shape, line, false)))
      return caches_.bring(address, cause_of(load), load == 0);
    ++settled.lines;
    settled.loaded += load;
    const Level::Entry leaves = wide::insert(set, {first_.shape.ways, false, first_.shape.kept}, entry);
    if (leaves == Level::empty) return;
    if ((leaves & 1) == 0)
      ++settled.evictions;
    else
      caches_.evict(0, leaves);
  }
  [[gnu::always_inline]] RECOUNT_BY_EIGHT void translate(std::uint64_t address, unsigned load,
                                                         Settled& settled) const {
    const std::uint64_t page = address >> page_shift_;
    std::uint64_t& newest = caches_.newest_pages_[page & caches_.newest_page_mask_];
    if (page == newest) return;
    if (!more_pages_.entries) return caches_.translate(address, cause_of(load));
    newest = page;
    Level::Entry* const set = pages_.set_of(page);
    if (wide::use(set, pages_.shape, page, false)) return;
    if (!wide::use(more_pages_.set_of(page), more_pages_.shape, page, false)) {
      if (!caches_.tlb_->translate(page, cause_of(load))) caches_.walk(page);
      return;
    }
    ++settled.pages;
    settled.loaded_pages += load;
    if (wide::insert(set, pages_.shape, page << 1) != Level::empty) ++settled.page_evictions;
  }

  Hierarchy& caches_;
  WideSets::View first_, second_{}, pages_{}, more_pages_{}; ///< no entries: not by way of it
  unsigned shift_, second_shift_ = 0, page_shift_ = 0;
  std::uint64_t bytes_; ///< of a line
};

} // namespace recount::model
