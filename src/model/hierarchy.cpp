#include "model/hierarchy.hpp"

#include <algorithm>

namespace recount::model {

Hierarchy::Hierarchy(const MachineDescription& machine) : machine_(machine) {
  check(machine_, machine_.name.empty() ? "machine" : machine_.name);
  std::uint64_t seed = machine_.seed;
  for (const LevelDescription& level : machine_.levels)
    levels_.emplace_back(SetIndex(static_cast<std::uint64_t>(level.sets()), level.index),
                         static_cast<std::uint64_t>(level.ways), static_cast<std::uint64_t>(level.line),
                         level.policy, seed++, level.qlru);
  mixed_ = machine_.tlb && machine_.placement && machine_.placement->mixed;
  for (std::size_t at = 0; at < levels_.size(); ++at)
    if (const auto bytes = static_cast<std::uint64_t>(machine_.levels[at].sector); bytes > 0)
      levels_[at].sectors = Sectors(levels_[at].shift(), static_cast<unsigned>(std::countr_zero(bytes)));
  if (machine_.tlb) tlb_.emplace(*machine_.tlb, machine_.seed + tlb_seed, mixed_);
  shift_ = levels_.front().shift();
  first_ = levels_.front().quick() ? levels_.front().kind() : Level::Kind::other;
  if (first_ == Level::Kind::wide && shift_ != wide_shift) first_ = Level::Kind::other;
  within_ = (std::uint64_t{1} << shift_) - 1;
  first_bits_ = static_cast<std::uint64_t>(machine_.levels.front().sets() - 1) << shift_;
  newest_.fill(Level::empty);
  newest_pages_.fill(no_page);
  const auto mask_of = [](const auto& level, std::size_t places) { // hashed: one place for all
    const std::int64_t sets = level.index.empty() ? level.sets() : 1;
    return std::min<std::uint64_t>(places, static_cast<std::uint64_t>(sets & -sets)) - 1;
  };
  newest_mask_ = mask_of(machine_.levels.front(), newest_.size());
  if (machine_.tlb && !mixed_)
    newest_page_mask_ = mask_of(machine_.tlb->levels.front(), newest_pages_.size());
  if (!machine_.family.empty()) distances_.emplace(machine_);
  for (std::size_t at = 0; at < levels_.size(); ++at)
    prefetchers_.emplace_back(machine_.levels[at].prefetch, levels_[at].shift());
  if (machine_.placement && !machine_.placement->contiguous) physical_.emplace(*machine_.placement);
  private_ = static_cast<std::size_t>(std::ranges::count(machine_.levels, false, &LevelDescription::shared));
  block_shift_ = levels_[private_ - 1].shift();
  begin(false);
}

// With several cores at work, no access takes a short way.
void Hierarchy::begin(bool coherent) {
  const auto simple = [](const LevelDescription& level) {
    return level.write == Write::back && level.allocate && level.inclusion != Inclusion::exclusive &&
           level.prefetch.empty() && level.sector == 0;
  };
  simple_ = !coherent && !distances_ && simple(machine_.levels.front());
  direct_ = simple_ && !physical_;
  simple_below_ = !coherent && std::ranges::all_of(machine_.levels, simple);
  wide_ = simple_below_ && shift_ == wide_shift && levels_.size() <= most_wide &&
          std::ranges::all_of(levels_, &Level::wide_lru);
  wide_second_ = simple_ && levels_.size() > 1 && simple(machine_.levels[1]) && levels_[1].wide_lru();
  room_ = direct_ ? within_ + 1 : 0;
  wide_room_ = first_ == Level::Kind::wide ? room_ : 0;
  boundary_ = coherent ? private_ : ~std::size_t{0};
  lost_.assign(coherent ? private_ : 0, {});
  owners_.assign(coherent ? owners : 0, {});
}

// An access that crosses lines, or to levels that are not simple, or to drawn physical pages.
void Hierarchy::lines(std::uint64_t first, std::uint64_t last, Cause cause) {
  crossings_[number(cause)] += static_cast<std::int64_t>(last - first);
  for (; first <= last; ++first) {
    const std::uint64_t address = physical_ ? (*physical_)(first << shift_) : first << shift_;
    const std::uint64_t line = address >> shift_;
    const bool store = cause == Cause::store;
    if (mixed_)
      translate_mixed(first << shift_, cause);
    else if (tlb_)
      translate(first << shift_, cause);
    if (store && coherent()) take_from_others(address);
    if (distances_) {
      ++accesses_[number(cause)];
      distances_->take(line, store);
      continue;
    }
    if (!simple_) {
      request(0, address, cause, store);
      continue;
    }
    ++accesses_[number(cause)];
    newest_[line & newest_mask_] = line << 1; // may be dirty or not
    if (!levels_.front().use(line, store)) bring(address, cause, store);
  }
}

// After a miss of a simple first level.
void Hierarchy::bring(std::uint64_t address, Cause cause, bool dirty) {
  ++levels_[0].counts.misses[number(cause)];
  if (wide_) return bring_wide(levels_[0].wide().set_of(address >> shift_), address, cause, dirty);
  if (simple_below_) return bring_simple(1, address, cause, dirty);
  const bool came_dirty = request(1, address, cause, false);
  fill(0, address, dirty || came_dirty);
}

// For levels without special policies the fast path of request() and missed(), from level `at` on.
void Hierarchy::bring_simple(std::size_t at, std::uint64_t address, Cause cause, bool dirty) {
  const std::size_t c = number(cause), size = levels_.size();
  for (; at < size; ++at) {
    Level& level = levels_[at];
    ++level.counts.accesses[c];
    if (level.use(address >> level.shift(), false)) break;
    ++level.counts.misses[c];
  }
  if (at == size) ++memory_.accesses[c];
  while (at-- > 0) {
    Level& level = levels_[at];
    const Level::Entry leaves = level.insert(address >> level.shift(), dirty && at == 0);
    if (leaves == Level::empty) continue;
    if ((leaves & 1) == 0 && machine_.levels[at].inclusion == Inclusion::non_inclusive)
      ++level.counts.evictions;
    else
      evict(at, leaves);
  }
}

// Asks level `at` for the line that holds `address`; with `writes`, hands it a store. True: the line comes up
// dirty, out of an exclusive level.
bool Hierarchy::request(std::size_t at, std::uint64_t address, Cause cause, bool writes) {
  if (at == boundary_) read_from_others(address);
  if (at == levels_.size()) {
    ++memory_.accesses[number(cause)];
    return false;
  }
  const LevelDescription& as = machine_.levels[at];
  Level& level = levels_[at];
  const std::uint64_t line = address >> level.shift();
  ++level.counts.accesses[number(cause)];
  if (!level.use_at(address, writes && as.write == Write::back)) {
    ++level.counts.misses[number(cause)];
    if (cause == Cause::load || cause == Cause::store) {
      if (lost(at, line)) ++level.counts.coherence_misses;
      if (level.sectors.any() && level.holds(line)) ++level.counts.sector_misses;
    }
    return missed(at, address, cause, writes);
  }
  if (writes && as.write == Write::through) request(at + 1, address, cause, true);
  if (!prefetchers_[at].none()) prefetch_after(at, line, cause, false);
  return !writes && as.inclusion == Inclusion::exclusive && (level.remove(line) & 1) != 0;
}

// Hennessy and Patterson, Computer Architecture: A Quantitative Approach, 6th edition, appendix B.1: without
// allocation "write misses do not affect the cache". So nothing is brought in and no prefetch is started;
// Intel's L1 prefetchers, too, are triggered by loads (248966, "Data Prefetch to L1").
bool Hierarchy::missed(std::size_t at, std::uint64_t address, Cause cause, bool writes) {
  const LevelDescription& as = machine_.levels[at];
  const bool exclusive = as.inclusion == Inclusion::exclusive;
  if (writes && (exclusive || !as.allocate)) {
    request(at + 1, address, cause, true);
    return false;
  }
  if (exclusive) return request(at + 1, address, cause, false);
  const std::uint64_t line = address >> levels_[at].shift();
  const bool came_dirty = request(at + 1, address, cause, false);
  fill(at, address, came_dirty || (writes && as.write == Write::back));
  if (writes && as.write == Write::through) request(at + 1, address, cause, true);
  if (!prefetchers_[at].none()) prefetch_after(at, line, cause, true);
  return false;
}

// Hands level `at` a line that leaves the level above: `shift` is that level's. To this level a write-back is
// a write, so its write policy and its write-miss policy decide (Hennessy and Patterson, as above): a
// write-through level has no dirty lines and passes the line on, and one that does not allocate does not take
// in a line that it misses.
void Hierarchy::put(std::size_t at, std::uint64_t address, Cause cause, unsigned shift) {
  if (at == levels_.size()) {
    ++memory_.accesses[number(cause)];
    return;
  }
  const LevelDescription& as = machine_.levels[at];
  Level& level = levels_[at];
  const bool dirty = cause == Cause::write_back, stays_dirty = dirty && as.write == Write::back;
  ++level.counts.accesses[number(cause)];
  if (!level.use_at(address, stays_dirty)) {
    ++level.counts.misses[number(cause)];
    if (!as.allocate && as.inclusion != Inclusion::exclusive) return put(at + 1, address, cause, shift);
    if (shift < level.unit_shift()) request(at + 1, address, Cause::refill, false);
    fill(at, address, stays_dirty);
  }
  if (dirty && !stays_dirty) put(at + 1, address, cause, shift);
}

void Hierarchy::fill(std::size_t at, std::uint64_t address, bool dirty) {
  Level& level = levels_[at];
  const std::uint64_t line = address >> level.shift();
  if (level.sectors.any()) {
    level.sectors.add(address, dirty);
    if (level.use(line, dirty)) return;
  }
  const Level::Entry leaves = level.insert(line, dirty);
  if (coherent() && at < private_) lost_[at].erase(line);
  if (leaves != Level::empty) evict(at, leaves);
}

void Hierarchy::evict(std::size_t at, Level::Entry entry) {
  Level& level = levels_[at];
  const std::uint64_t line = entry >> 1, address = line << level.shift();
  ++level.counts.evictions;
  prefetchers_[at].left(line);
  std::uint64_t dirty = level.take_dirty(entry); // a bit for each sector
  if (machine_.levels[at].inclusion == Inclusion::inclusive) dirty |= invalidate_above(at, address);
  if (dirty != 0) {
    ++level.counts.write_backs;
    const unsigned unit = level.unit_shift();
    for (; dirty != 0; dirty &= dirty - 1)
      put(at + 1, address + (static_cast<std::uint64_t>(std::countr_zero(dirty)) << unit), Cause::write_back,
          unit);
  } else if (at + 1 < levels_.size() && machine_.levels[at + 1].inclusion == Inclusion::exclusive) {
    put(at + 1, address, Cause::victim, level.shift());
  }
}

// The sectors of the line at the address of which a copy above was dirty: its data leave with the line.
std::uint64_t Hierarchy::invalidate_above(std::size_t at, std::uint64_t address) {
  const unsigned shift = levels_[at].shift(), unit = levels_[at].unit_shift();
  std::uint64_t dirty = remove_within(at, address, shift, unit);
  if (at >= boundary_)
    at_others(address, shift, [&] { dirty |= remove_within(private_, address, shift, unit); });
  if (!instructions_.empty()) remove_fetched(at, address);
  return dirty;
}

// Out of so many levels of the current core; a bit for each unit of which something was dirty.
std::uint64_t Hierarchy::remove_within(std::size_t levels, std::uint64_t address, unsigned shift,
                                       unsigned unit) {
  std::uint64_t dirty = 0;
  for (std::size_t above = 0; above < levels; ++above) {
    Level& level = levels_[above];
    const std::uint64_t first = address >> level.shift();
    for (std::uint64_t part = 0; part >> (shift - level.shift()) == 0; ++part) {
      const Level::Entry entry = level.remove(first + part);
      if (entry == Level::empty) continue;
      if (above == 0) newest_[entry >> 1 & newest_mask_] = Level::empty;
      ++level.counts.invalidations;
      prefetchers_[above].left(entry >> 1);
      for (std::uint64_t own = level.take_dirty(entry); own != 0; own &= own - 1) {
        const std::uint64_t sector = static_cast<std::uint64_t>(std::countr_zero(own)) << level.unit_shift();
        dirty |= std::uint64_t{1} << (((entry >> 1 << level.shift()) + sector - address) >> unit);
      }
    }
  }
  return dirty;
}

void Hierarchy::prefetch_after(std::size_t at, std::uint64_t line, Cause cause, bool missed) {
  Level& level = levels_[at];
  Prefetchers& prefetchers = prefetchers_[at];
  if (cause == Cause::refill) return;
  if (!missed) prefetchers.used(line);
  prefetchers.watch(line, cause, missed, [&](Prefetch kind, std::uint64_t next) {
    PrefetchCounts& counts = prefetchers.counts[number(kind)];
    ++level.counts.prefetches;
    ++counts.requests;
    if (level.holds(next)) return;
    ++counts.fetches;
    const bool came_dirty = request(at + 1, next << level.shift(), Cause::prefetch, false);
    prefetchers.brought(kind, next); // first, because what the line evicts can remove it again
    fill(at, next << level.shift(), came_dirty);
  });
}

} // namespace recount::model
