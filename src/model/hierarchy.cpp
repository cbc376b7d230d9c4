#include "model/hierarchy.hpp"

#include "model/wide_lookup.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

namespace recount::model {

namespace {

void insert(Level& level, std::uint64_t line) {
  if (level.insert(line, false) != Level::empty) ++level.counts.evictions;
}

bool look_up(Level& level, std::uint64_t line) {
  ++level.counts.accesses[number(Cause::fetch)];
  if (level.use(line, false)) return true;
  ++level.counts.misses[number(Cause::fetch)];
  return false;
}

} // namespace

Instructions::Instructions(const InstructionDescription& description, std::uint64_t seed, unsigned page_lines,
                           std::uint64_t groups)
    : cache(description.cache, seed),
      newest_mask_(groups - 1),
      page_lines_(page_lines),
      lru_(description.cache.policy == Policy::lru &&
           (description.tlb.empty() || description.tlb.front().policy == Policy::lru)) {
  forget();
  for (const TlbLevel& level : description.tlb)
    tlb.emplace_back(level, ++seed);
}

void Instructions::reset_counters() {
  cache.counts = {};
  repeated = 0;
  for (Level& level : tlb)
    level.counts = {};
}

void Instructions::clear() {
  forget();
  cache.clear();
  std::ranges::for_each(tlb, &Level::clear);
}

void Instructions::save(std::vector<std::uint64_t>& words) const {
  cache.save(words);
  for (const Level& level : tlb)
    level.save(words);
}

// Instruction fetches: through caches and TLBs of their own into the levels that also hold data.
void Hierarchy::fetch(std::uint64_t address, unsigned bytes) {
  Instructions& own = instructions();
  Level& cache = own.cache;
  const unsigned shift = cache.shift();
  for (std::uint64_t line = address >> shift, last = (address + bytes - 1) >> shift; line <= last; ++line) {
    if (own.is_newest(line)) continue;
    const std::uint64_t from = line << shift, physical = physical_ ? (*physical_)(from) : from;
    translate_fetch(from);
    if (look_up(cache, physical >> shift)) continue;
    request(1, physical, Cause::fetch, false);
    insert(cache, physical >> shift);
  }
}

// Of the core. Physical addresses tell nothing about the sets of others.
Instructions& Hierarchy::instructions() {
  if (core_ < instructions_.size()) return instructions_[core_];
  constexpr std::uint64_t seed = 128; // differs from those of data caches and TLBs
  const InstructionDescription& all = machine_.instructions.value();
  const auto bits = [](std::int64_t bytes) { return std::countr_zero(static_cast<std::uint64_t>(bytes)); };
  const int page_lines = all.tlb.empty() ? 63 : static_cast<int>(tlb_->page_shift()) - bits(all.cache.line);
  while (instructions_.size() <= core_)
    instructions_.emplace_back(all, machine_.seed + seed, static_cast<unsigned>(std::max(page_lines, 0)),
                               physical_ ? 1 : groups_of_sets(all.cache, Instructions::max_groups));
  return instructions_[core_];
}

void Hierarchy::translate_fetch(std::uint64_t address) {
  std::vector<Level>& own = instructions_[core_].tlb;
  if (own.empty()) return;
  const std::uint64_t page = address >> tlb_->page_shift();
  const auto level = [&](std::size_t at) -> Level& {
    return machine_.instructions->tlb[at].shared ? tlb_->levels[at] : own[at];
  };
  std::size_t at = 0;
  while (at < own.size() && !look_up(level(at), page))
    ++at;
  const bool known = at < own.size();
  while (at-- > 0)
    insert(level(at), page);
  if (!known) walk(page);
}

// Instructions are above every level but the first of data.
void Hierarchy::remove_fetched(std::size_t at, std::uint64_t address) {
  for (std::size_t core = 0; core < instructions_.size(); ++core) {
    if (at < private_ && core != core_) continue;
    Level& cache = instructions_[core].cache;
    for (const std::uint64_t line : cache.lines_of(address, levels_[at].shift()))
      if (cache.remove(line) != Level::empty) {
        ++cache.counts.invalidations;
        instructions_[core].forget();
      }
  }
}

void Hierarchy::count_instructions(Counts& all) const {
  if (machine_.instructions) all.instruction_tlb.resize(machine_.instructions->tlb.size());
  for (const Instructions& one : instructions_) {
    all.instructions.add(one.cache.counts, {}, 1);
    all.instructions.accesses[number(Cause::fetch)] += one.repeated;
    if (!one.tlb.empty()) all.instruction_tlb.front().accesses[number(Cause::fetch)] += one.repeated;
    for (std::size_t at = 0; at < one.tlb.size(); ++at)
      all.instruction_tlb[at].add(one.tlb[at].counts, {}, 1);
  }
  for (std::size_t at = 0; at < all.instruction_tlb.size(); ++at)
    if (machine_.instructions->tlb[at].shared) {
      all.instruction_tlb[at].accesses[number(Cause::fetch)] = all.tlb[at].accessed(Cause::fetch);
      all.instruction_tlb[at].misses[number(Cause::fetch)] = all.tlb[at].missed(Cause::fetch);
    }
  all.fetched = !instructions_.empty();
}

void Hierarchy::add_instructions(const Counts& later, const Counts& earlier, std::int64_t times) {
  if (!later.fetched) return;
  Instructions& own = instructions();
  own.cache.counts.add(later.instructions, earlier.instructions, times);
  for (std::size_t at = 0; at < later.instruction_tlb.size(); ++at)
    own.tlb[at].counts.add(later.instruction_tlb[at], earlier.instruction_tlb[at], times);
}

Hierarchy::Hierarchy(const MachineDescription& machine) : machine_(machine) {
  check(machine_, machine_.name.empty() ? "machine" : machine_.name);
  std::uint64_t seed = machine_.seed;
  for (const LevelDescription& level : machine_.levels) {
    levels_.emplace_back(level, seed++);
    prefetchers_.emplace_back(level.prefetch, levels_.back().shift());
  }
  if (machine_.tlb)
    tlb_.emplace(*machine_.tlb, machine_.seed + tlb_seed, machine_.placement && machine_.placement->mixed);
  shift_ = levels_.front().shift();
  first_bits_ = static_cast<std::uint64_t>(machine_.levels.front().sets() - 1) << shift_;
  newest_.fill(Level::empty);
  newest_mask_ = groups_of_sets(machine_.levels.front(), newest_.size()) - 1;
  if (!machine_.family.empty()) distances_.emplace(machine_);
  if (machine_.placement && !machine_.placement->contiguous) physical_.emplace(*machine_.placement);
  private_ = static_cast<std::size_t>(std::ranges::count(machine_.levels, false, &LevelDescription::shared));
  block_shift_ = levels_[private_ - 1].shift();
  begin(false);
}

bool Hierarchy::simple(const LevelDescription& level) {
  return level.write == Write::back && level.allocate && level.inclusion != Inclusion::exclusive &&
         level.prefetch.empty();
}

// With several cores at work, every access is simulated in full.
void Hierarchy::begin(bool coherent) {
  first_ = Path::full;
  const LevelDescription& first = machine_.levels.front();
  if (!coherent && !distances_ && simple(first)) {
    const auto sets = static_cast<std::uint64_t>(first.sets());
    const bool wide = !physical_ && shift_ == wide_shift && levels_.front().is_wide() &&
                      first.index.empty() && std::has_single_bit(sets);
    first_ = wide ? Path::wide : Path::simple;
  }
  simple_below_ = !coherent && std::ranges::all_of(machine_.levels, simple);
  boundary_ = coherent ? private_ : ~std::size_t{0};
  lost_.assign(coherent ? private_ : 0, {});
  owners_.assign(coherent ? owner_entries : 0, {});
}

template <Cause cause>
RECOUNT_AVX512 void Hierarchy::find_wide(Level::Entry* set, std::uint64_t address) {
  constexpr bool store = cause == Cause::store;
  if (!wide::use(set, levels_.front().wide().shape(), address >> wide_shift, store))
    miss_first(address, cause, store);
}
template void Hierarchy::find_wide<Cause::load>(Level::Entry* set, std::uint64_t address);
template void Hierarchy::find_wide<Cause::store>(Level::Entry* set, std::uint64_t address);

// Accesses that do not take the wide path, or cross lines.
void Hierarchy::lines(std::uint64_t first, std::uint64_t last, Cause cause) {
  crossings_[number(cause)] += static_cast<std::int64_t>(last - first);
  for (; first <= last; ++first) {
    const std::uint64_t address = physical_ ? (*physical_)(first << shift_) : first << shift_;
    const std::uint64_t line = address >> shift_;
    const bool store = cause == Cause::store;
    if (tlb_) tlb_->mixed() ? translate_mixed(first << shift_, cause) : translate(first << shift_, cause);
    if (store && coherent()) invalidate_others(address);
    if (distances_) {
      ++accesses_[number(cause)];
      distances_->take(line, store);
    } else if (first_ == Path::full) {
      request(0, address, cause, store);
    } else {
      ++accesses_[number(cause)];
      if (first_ == Path::simple && is_newest(line, store)) continue;
      if (!levels_.front().use(line, store)) miss_first(address, cause, store);
    }
  }
}

// Small and huge pages. The previous page is the only one known to be the most recent in its set.
void Hierarchy::translate_mixed(std::uint64_t address, Cause cause) {
  const std::uint64_t page = address >> tlb_->page_shift();
  if (tlb_->is_newest(page)) return;
  if (!physical_->huge(address)) {
    if (!tlb_->translate_older(page, cause)) walk(page);
    return;
  }
  const unsigned small_in_huge = tlb_->huge_shift() - tlb_->page_shift();
  if (!tlb_->translate_huge(page >> small_in_huge, cause))
    walk(page >> small_in_huge << small_in_huge, tlb_->fewer_tables());
}

// `last`: the level of the page table that holds the entry of the page; above 0 for a huge one.
void Hierarchy::walk(std::uint64_t page, std::size_t last) {
  constexpr unsigned level_bits = 9; // 512 entries of 8 bytes in a page of the table
  std::vector<Level>& caches = tlb_->walk;
  const auto key = [&](std::size_t above) { return page >> (level_bits * above); };
  std::size_t missed = last;
  while (missed < caches.size() && !caches[missed].use(key(missed + 1), false))
    ++missed;
  for (std::size_t above = missed; above > last; --above) {
    caches[above - 1].insert(key(above), false);
    read_line(page_table + above * table_above + 8 * key(above), Cause::walk);
  }
  read_line(page_table + last * table_above + 8 * key(last), Cause::walk);
}

void Hierarchy::read_line(std::uint64_t address, Cause cause) {
  if (physical_) address = (*physical_)(address);
  const std::uint64_t line = address >> shift_;
  if (first_ == Path::full) {
    request(0, address, cause, false);
    return;
  }
  ++levels_.front().counts.accesses[number(cause)];
  if (first_ == Path::simple && is_newest(line, false)) return;
  if (!levels_.front().use(line, false)) miss_first(address, cause, false);
}

// After a miss in a first level whose path is not full.
void Hierarchy::miss_first(std::uint64_t address, Cause cause, bool dirty) {
  ++levels_[0].counts.misses[number(cause)];
  if (simple_below_) return miss_simple(address, cause, dirty);
  const bool fetched_dirty = request(1, address, cause, false);
  fill(0, address, dirty || fetched_dirty);
}

// The fast path of request() and miss() for levels without special policies.
void Hierarchy::miss_simple(std::uint64_t address, Cause cause, bool dirty) {
  const std::size_t c = number(cause), size = levels_.size();
  std::size_t at = 1;
  for (; at < size; ++at) {
    Level& level = levels_[at];
    ++level.counts.accesses[c];
    if (level.use(address >> level.shift(), false)) break;
    ++level.counts.misses[c];
  }
  if (at == size) ++memory_.accesses[c];
  while (at-- > 0) {
    Level& level = levels_[at];
    const Level::Entry evicted = level.insert(address >> level.shift(), dirty && at == 0);
    if (evicted == Level::empty) continue;
    if ((evicted & 1) == 0 && machine_.levels[at].inclusion == Inclusion::non_inclusive)
      ++level.counts.evictions;
    else
      evict(at, evicted);
  }
}

// Requests from level `at` the line that holds `address`; with `writes`, forwards a store. True: the line
// comes dirty, out of an exclusive level.
bool Hierarchy::request(std::size_t at, std::uint64_t address, Cause cause, bool writes) {
  if (at == boundary_) clean_others(address);
  if (at == levels_.size()) {
    ++memory_.accesses[number(cause)];
    return false;
  }
  const LevelDescription& description = machine_.levels[at];
  Level& level = levels_[at];
  const std::uint64_t line = address >> level.shift();
  ++level.counts.accesses[number(cause)];
  if (!level.use(line, writes && description.write == Write::back)) {
    ++level.counts.misses[number(cause)];
    if ((cause == Cause::load || cause == Cause::store) && lost(at, line)) ++level.counts.coherence_misses;
    return miss(at, address, cause, writes);
  }
  if (writes && description.write == Write::through) request(at + 1, address, cause, true);
  if (!prefetchers_[at].none()) prefetch_after(at, line, cause, false);
  return !writes && description.inclusion == Inclusion::exclusive && (level.remove(line) & 1) != 0;
}

// Hennessy and Patterson, Computer Architecture: A Quantitative Approach, 6th edition, appendix B.1: without
// allocation "write misses do not affect the cache". So nothing is fetched and no prefetch is started;
// Intel's L1 prefetchers, too, are triggered by loads (248966, "Data Prefetch to L1").
bool Hierarchy::miss(std::size_t at, std::uint64_t address, Cause cause, bool writes) {
  const LevelDescription& description = machine_.levels[at];
  const bool exclusive = description.inclusion == Inclusion::exclusive;
  if (writes && (exclusive || !description.allocate)) {
    request(at + 1, address, cause, true);
    return false;
  }
  if (exclusive) return request(at + 1, address, cause, false);
  const std::uint64_t line = address >> levels_[at].shift();
  const bool fetched_dirty = request(at + 1, address, cause, false);
  fill(at, address, fetched_dirty || (writes && description.write == Write::back));
  if (writes && description.write == Write::through) request(at + 1, address, cause, true);
  if (!prefetchers_[at].none()) prefetch_after(at, line, cause, true);
  return false;
}

// Gives level `at` a line evicted by the level above, whose line has 2^shift bytes. To this level a
// write-back is a write, so its write policy and its write-miss policy decide (Hennessy and Patterson, as
// above): a write-through level has no dirty lines and forwards the line, and one that does not allocate is
// not filled by a miss.
void Hierarchy::receive(std::size_t at, std::uint64_t address, Cause cause, unsigned shift) {
  if (at == levels_.size()) {
    ++memory_.accesses[number(cause)];
    return;
  }
  const LevelDescription& description = machine_.levels[at];
  Level& level = levels_[at];
  const bool dirty = cause == Cause::write_back, stays_dirty = dirty && description.write == Write::back;
  ++level.counts.accesses[number(cause)];
  if (!level.use(address >> level.shift(), stays_dirty)) {
    ++level.counts.misses[number(cause)];
    if (!description.allocate && description.inclusion != Inclusion::exclusive)
      return receive(at + 1, address, cause, shift);
    if (shift < level.shift()) request(at + 1, address, Cause::refill, false);
    fill(at, address, stays_dirty);
  }
  if (dirty && !stays_dirty) receive(at + 1, address, cause, shift);
}

void Hierarchy::fill(std::size_t at, std::uint64_t address, bool dirty) {
  Level& level = levels_[at];
  const std::uint64_t line = address >> level.shift();
  const Level::Entry evicted = level.insert(line, dirty);
  if (coherent() && at < private_) lost_[at].erase(line);
  if (evicted != Level::empty) evict(at, evicted);
}

void Hierarchy::evict(std::size_t at, Level::Entry entry) {
  Level& level = levels_[at];
  const std::uint64_t line = entry >> 1, address = line << level.shift();
  ++level.counts.evictions;
  prefetchers_[at].evicted(line);
  bool dirty = (entry & 1) != 0;
  if (machine_.levels[at].inclusion == Inclusion::inclusive) dirty |= invalidate_above(at, address);
  if (dirty) {
    ++level.counts.write_backs;
    receive(at + 1, address, Cause::write_back, level.shift());
  } else if (at + 1 < levels_.size() && machine_.levels[at + 1].inclusion == Inclusion::exclusive) {
    receive(at + 1, address, Cause::victim, level.shift());
  }
}

// Whether a copy above was dirty: its data leave with the line.
bool Hierarchy::invalidate_above(std::size_t at, std::uint64_t address) {
  const unsigned shift = levels_[at].shift();
  bool dirty = remove_within(at, address, shift);
  if (at >= boundary_) at_others(address, shift, [&] { dirty |= remove_within(private_, address, shift); });
  if (!instructions_.empty()) remove_fetched(at, address);
  return dirty;
}

// Out of so many levels of the current core; whether something was dirty.
bool Hierarchy::remove_within(std::size_t levels, std::uint64_t address, unsigned shift) {
  bool dirty = false;
  for (std::size_t above = 0; above < levels; ++above) {
    Level& level = levels_[above];
    const std::uint64_t first = address >> level.shift();
    for (std::uint64_t part = 0; part >> (shift - level.shift()) == 0; ++part) {
      const Level::Entry entry = level.remove(first + part);
      if (entry == Level::empty) continue;
      if (above == 0) newest_[entry >> 1 & newest_mask_] = Level::empty;
      ++level.counts.invalidations;
      prefetchers_[above].evicted(entry >> 1);
      dirty |= (entry & 1) != 0;
    }
  }
  return dirty;
}

// Distances keep no lines.
void Hierarchy::flush(std::uint64_t address) {
  if (physical_) address = (*physical_)(address);
  bool dirty = false;
  const auto remove = [&](std::size_t levels) {
    for (std::size_t at = 0; at < levels; ++at) {
      Level& level = levels_[at];
      const Level::Entry entry = level.remove(address >> level.shift());
      if (entry == Level::empty) continue;
      if (at == 0) newest_[entry >> 1 & newest_mask_] = Level::empty;
      prefetchers_[at].evicted(entry >> 1);
      if ((entry & 1) == 0) continue;
      ++level.counts.write_backs;
      dirty = true;
    }
  };
  remove(levels_.size());
  at_others(address >> block_shift_ << block_shift_, block_shift_, [&] { remove(private_); });
  for (Instructions& own : instructions_) {
    own.cache.remove(address >> own.cache.shift());
    own.forget();
  }
  if (dirty) ++memory_.accesses[number(Cause::write_back)];
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
    const bool fetched_dirty = request(at + 1, next << level.shift(), Cause::prefetch, false);
    prefetchers.fetched(kind, next); // first, because what the line evicts can remove it again
    fill(at, next << level.shift(), fetched_dirty);
  });
}

void Hierarchy::reset_counters() {
  for (Level& level : levels_)
    level.counts = {};
  if (tlb_)
    for (Level& level : tlb_->levels)
      level.counts = {};
  for (Prefetchers& prefetchers : prefetchers_)
    prefetchers.counts = {};
  if (distances_) distances_->reset_counters();
  std::ranges::for_each(instructions_, &Instructions::reset_counters);
  memory_ = {};
  accesses_[0] = accesses_[1] = crossings_[0] = crossings_[1] = 0;
}

void Hierarchy::clear() {
  std::ranges::for_each(levels_, &Level::clear);
  if (tlb_) tlb_->clear();
  std::ranges::for_each(prefetchers_, &Prefetchers::clear);
  if (distances_) distances_->clear();
  std::ranges::for_each(instructions_, &Instructions::clear);
  for (Core& core : cores_) {
    std::ranges::for_each(core.levels, &Level::clear);
    std::ranges::for_each(core.prefetchers, &Prefetchers::clear);
    if (core.tlb) core.tlb->clear();
    core.lost.assign(private_, {});
  }
  for (auto& lines : lost_)
    lines.clear();
  std::ranges::fill(owners_, Owner{});
  newest_.fill(Level::empty);
}

std::vector<std::int64_t> Hierarchy::vacancies() const {
  std::vector<std::int64_t> all;
  const auto add = [&](const std::optional<Tlb>& tlb, const std::vector<Level>& levels) {
    all.resize(std::max(all.size(), (tlb ? tlb->levels.size() : 0) + levels.size()));
    std::size_t i = 0;
    for (std::size_t level = 0; tlb && level < tlb->levels.size(); ++level)
      all[i++] += tlb->vacant(level);
    for (const Level& level : levels)
      all[i++] += level.vacant();
  };
  add(tlb_, levels_);
  for (std::size_t i = 0; i < cores_.size(); ++i)
    if (i != core_) add(cores_[i].tlb, cores_[i].levels);
  return all;
}

Counts Hierarchy::counts() const {
  Counts all;
  for (const Level& level : levels_)
    all.levels.push_back(level.counts);
  for (const Prefetchers& prefetchers : prefetchers_)
    all.prefetch.push_back(prefetchers.counts);
  if (tlb_)
    for (const Level& level : tlb_->levels)
      all.tlb.push_back(level.counts);
  for (const Cause cause : {Cause::load, Cause::store})
    all.levels.front().accesses[number(cause)] += accesses_[number(cause)];
  if (distances_) all.distances = distances_->counts();
  count_instructions(all);
  all.memory = memory_;
  const LevelCounts& first = all.levels.front();
  if (tlb_) // each is looked up once
    for (const Cause cause : {Cause::load, Cause::store})
      all.tlb.front().accesses[number(cause)] = first.accessed(cause);
  all.loads = first.accessed(Cause::load) - crossings_[number(Cause::load)];
  all.stores = first.accessed(Cause::store) - crossings_[number(Cause::store)];
  return all;
}

std::int64_t Hierarchy::requests(std::size_t at) const {
  const auto sum = [](const auto& all) { return std::accumulate(all.begin(), all.end(), std::int64_t{0}); };
  return at < levels_.size() ? sum(levels_[at].counts.accesses) : 0;
}

Hierarchy::State Hierarchy::state(std::size_t caches) const {
  State words;
  for (std::size_t at = 0; at < caches; ++at) {
    levels_[at].save(words);
    prefetchers_[at].save(words);
  }
  if (tlb_) tlb_->save(words);
  if (distances_) distances_->save(words);
  if (coherent()) save_cores(words);
  for (const Instructions& one : instructions_)
    one.save(words);
  return words;
}

void Hierarchy::add(const Counts& later, const Counts& earlier, std::int64_t times) {
  for (std::size_t at = 0; at < levels_.size(); ++at)
    levels_[at].counts.add(later.levels[at], earlier.levels[at], times);
  for (std::size_t at = 0; at < levels_.size(); ++at)
    prefetchers_[at].counts.add(later.prefetch[at], earlier.prefetch[at], times);
  if (tlb_)
    for (std::size_t at = 0; at < tlb_->levels.size(); ++at)
      tlb_->levels[at].counts.add(later.tlb[at], earlier.tlb[at], times);
  if (distances_) distances_->add(later.distances, earlier.distances, times);
  add_instructions(later, earlier, times);
  memory_.add(later.memory, earlier.memory, times);
  const LevelCounts &l = later.levels.front(), &e = earlier.levels.front();
  const std::int64_t crossed[2] = {
      l.accessed(Cause::load) - e.accessed(Cause::load) - (later.loads - earlier.loads),
      l.accessed(Cause::store) - e.accessed(Cause::store) - (later.stores - earlier.stores)};
  for (std::size_t i = 0; i < 2; ++i)
    crossings_[i] += times * crossed[i];
}

// Several cores: each has private levels and TLBs, and the stores of one invalidate the copies of the others.

namespace {

void save_lines(const std::vector<std::unordered_set<std::uint64_t>>& lost,
                std::vector<std::uint64_t>& words) {
  for (const auto& lines : lost) {
    words.push_back(lines.size());
    const std::set ordered(lines.begin(), lines.end());
    words.insert(words.end(), ordered.begin(), ordered.end());
  }
}

} // namespace

void Hierarchy::add_core() {
  Core core;
  for (std::size_t at = 0; at < private_; ++at) {
    core.levels.push_back(levels_[at]);
    core.prefetchers.push_back(prefetchers_[at]);
    core.levels.back().clear();
    core.prefetchers.back().clear();
    core.levels.back().counts = {};
    core.prefetchers.back().counts = {};
  }
  if (machine_.tlb) core.tlb.emplace(*machine_.tlb, machine_.seed + tlb_seed, tlb_->mixed());
  core.lost.resize(private_);
  cores_.push_back(std::move(core));
}

void Hierarchy::swap_with(Core& core) {
  for (std::size_t at = 0; at < private_; ++at) {
    swap_contents(levels_[at], core.levels[at]);
    swap_contents(prefetchers_[at], core.prefetchers[at]);
  }
  if (tlb_) tlb_->swap_contents(*core.tlb);
  lost_.swap(core.lost);
}

void Hierarchy::change_core(std::uint64_t core) {
  if (!coherent()) begin(true);
  while (cores_.size() <= std::max(core, core_))
    add_core();
  swap_with(cores_[core_]);
  swap_with(cores_[core]);
  core_ = core;
}

bool Hierarchy::has_part(const Core& core, std::uint64_t address, unsigned shift) const {
  return std::ranges::any_of(core.levels, [&](const Level& level) {
    return std::ranges::any_of(level.lines_of(address, shift),
                               [&](std::uint64_t line) { return level.holds(line); });
  });
}

// Invalidates the block in other cores, before a store.
void Hierarchy::invalidate_others(std::uint64_t address) {
  const std::uint64_t block = address >> block_shift_;
  Owner& owner = owners_[block % owner_entries];
  if (owner.block == block && owner.core == core_) return;
  owner = {block, core_};
  at_others(block << block_shift_, block_shift_, [&] { publish(block, false); });
}

// Writes back dirty copies of other cores, before a request to the shared levels.
void Hierarchy::clean_others(std::uint64_t address) {
  const std::uint64_t block = address >> block_shift_;
  Owner& owner = owners_[block % owner_entries];
  if (owner.block == block) {
    if (owner.core == core_) return;
    owner = {};
  }
  at_others(block << block_shift_, block_shift_, [&] { publish(block, true); });
}

// Writes the block back from the current core to the shared levels; keeps clean copies or removes them.
void Hierarchy::publish(std::uint64_t block, bool keep) {
  const std::uint64_t address = block << block_shift_;
  bool any_dirty = false;
  for (std::size_t at = 0; at < private_; ++at) {
    Level& level = levels_[at];
    for (const std::uint64_t line : level.lines_of(address, block_shift_)) {
      bool dirty = false;
      if (keep) {
        dirty = level.clean(line);
      } else if (const Level::Entry entry = level.remove(line); entry != Level::empty) {
        dirty = (entry & 1) != 0;
        ++level.counts.coherence_invalidations;
        prefetchers_[at].evicted(line);
        lost_[at].insert(line);
      }
      if (dirty) ++level.counts.coherence_write_backs;
      any_dirty = any_dirty || dirty;
    }
  }
  if (any_dirty) receive(private_, address, Cause::write_back, block_shift_);
}

void Hierarchy::save_cores(State& words) const {
  words.insert(words.end(), {core_, cores_.size()});
  save_lines(lost_, words);
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    if (i == core_) continue;
    const Core& core = cores_[i];
    for (const Level& level : core.levels)
      level.save(words);
    if (core.tlb) core.tlb->save(words);
    for (const Prefetchers& prefetchers : core.prefetchers)
      prefetchers.save(words);
    save_lines(core.lost, words);
  }
}

} // namespace recount::model
