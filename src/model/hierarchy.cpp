#include "model/hierarchy.hpp"

namespace recount::model {

namespace {

constexpr unsigned page_shift_of_prefetch = 12; // a prefetcher does not leave the 4 KiB page

constexpr std::size_t number(Cause cause) {
  return static_cast<std::size_t>(cause);
}

} // namespace

Hierarchy::Hierarchy(const MachineDescription& machine) : machine_(machine) {
  check(machine_, machine_.name.empty() ? "machine" : machine_.name);
  std::uint64_t seed = machine_.seed;
  for (const LevelDescription& level : machine_.levels)
    levels_.emplace_back(static_cast<std::uint64_t>(level.sets()), static_cast<std::uint64_t>(level.ways),
                         static_cast<std::uint64_t>(level.line), level.policy, seed++);
  if (machine_.tlb) tlb_.emplace(*machine_.tlb);
  const LevelDescription& first = machine_.levels.front();
  shift_ = levels_.front().shift();
  plain_ = !tlb_ && first.policy == Policy::lru && first.write == Write::back;
}

// An access that crosses lines or concerns more than plain caches.
void Hierarchy::lines(std::uint64_t line, std::uint64_t last, Cause cause) {
  crossings_[number(cause)] += static_cast<std::int64_t>(last - line);
  for (; line <= last; ++line)
    touch(line, cause);
}

void Hierarchy::touch(std::uint64_t line, Cause cause) {
  if (plain_) {
    ++plain_accesses_[number(cause)];
    if (!levels_.front().use_lru(line, cause == Cause::store)) miss(line, cause);
    return;
  }
  if (tlb_) {
    const std::uint64_t page = line << shift_ >> tlb_->page_shift();
    if (!tlb_->translate(page, cause)) request(0, page_table + 8 * page, Cause::walk, false);
  }
  request(0, line << shift_, cause, cause == Cause::store);
}

void Hierarchy::miss(std::uint64_t line, Cause cause) {
  ++levels_.front().counts.misses[number(cause)];
  missed(0, line << shift_, cause, cause == Cause::store);
}

// Asks level `at` for the line that holds `address`; with `writes`, hands it a store. True: the line comes up
// dirty, out of an exclusive level.
bool Hierarchy::request(std::size_t at, std::uint64_t address, Cause cause, bool writes) {
  if (at == levels_.size()) {
    ++memory_.accesses[number(cause)];
    return false;
  }
  const LevelDescription& as = machine_.levels[at];
  Level& level = levels_[at];
  const std::uint64_t line = address >> level.shift();
  ++level.counts.accesses[number(cause)];
  if (!level.use(line, writes && as.write == Write::back)) {
    ++level.counts.misses[number(cause)];
    return missed(at, address, cause, writes);
  }
  if (writes) {
    if (as.write == Write::through) request(at + 1, address, cause, true);
    return false;
  }
  return as.inclusion == Inclusion::exclusive && (level.remove(line) & 1) != 0;
}

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
  fill(at, line, came_dirty || (writes && as.write == Write::back));
  if (writes && as.write == Write::through) request(at + 1, address, cause, true);
  if (as.prefetch == Prefetch::next_line && (cause == Cause::load || cause == Cause::store))
    prefetch_after(at, line);
  return false;
}

// Hands level `at` a line that leaves the level above: `shift` is that level's.
void Hierarchy::put(std::size_t at, std::uint64_t address, Cause cause, unsigned shift) {
  if (at == levels_.size()) {
    ++memory_.accesses[number(cause)];
    return;
  }
  const LevelDescription& as = machine_.levels[at];
  Level& level = levels_[at];
  const bool dirty = cause == Cause::write_back, stays_dirty = dirty && as.write == Write::back;
  const std::uint64_t line = address >> level.shift();
  ++level.counts.accesses[number(cause)];
  if (!level.use(line, stays_dirty)) {
    ++level.counts.misses[number(cause)];
    if (!as.allocate && as.inclusion != Inclusion::exclusive) return put(at + 1, address, cause, shift);
    if (shift < level.shift()) request(at + 1, address, Cause::refill, false);
    fill(at, line, stays_dirty);
  }
  if (dirty && !stays_dirty) put(at + 1, address, cause, shift);
}

void Hierarchy::fill(std::size_t at, std::uint64_t line, bool dirty) {
  const Level::Entry leaves = levels_[at].insert(line, dirty);
  if (leaves != Level::empty) evict(at, leaves);
}

void Hierarchy::evict(std::size_t at, Level::Entry entry) {
  Level& level = levels_[at];
  const std::uint64_t line = entry >> 1, address = line << level.shift();
  ++level.counts.evictions;
  bool dirty = (entry & 1) != 0;
  if (machine_.levels[at].inclusion == Inclusion::inclusive && invalidate_above(at, line)) dirty = true;
  if (dirty) {
    ++level.counts.write_backs;
    put(at + 1, address, Cause::write_back, level.shift());
  } else if (at + 1 < levels_.size() && machine_.levels[at + 1].inclusion == Inclusion::exclusive) {
    put(at + 1, address, Cause::victim, level.shift());
  }
}

// True when a copy above was dirty: its data leave with the line.
bool Hierarchy::invalidate_above(std::size_t at, std::uint64_t line) {
  bool dirty = false;
  for (std::size_t above = 0; above < at; ++above) {
    Level& level = levels_[above];
    const unsigned shorter = levels_[at].shift() - level.shift();
    for (std::uint64_t part = 0; part >> shorter == 0; ++part) {
      const Level::Entry entry = level.remove((line << shorter) + part);
      if (entry == Level::empty) continue;
      ++level.counts.invalidations;
      dirty = dirty || (entry & 1) != 0;
    }
  }
  return dirty;
}

void Hierarchy::prefetch_after(std::size_t at, std::uint64_t line) {
  Level& level = levels_[at];
  const std::uint64_t next = line + 1, address = next << level.shift();
  if (address >> page_shift_of_prefetch != (line << level.shift()) >> page_shift_of_prefetch) return;
  ++level.counts.prefetches;
  if (level.holds(next)) return;
  const bool came_dirty = request(at + 1, address, Cause::prefetch, false);
  fill(at, next, came_dirty);
}

void Hierarchy::reset_counters() {
  for (Level& level : levels_)
    level.counts = {};
  if (tlb_)
    for (Level& level : tlb_->levels)
      level.counts = {};
  memory_ = {};
  plain_accesses_[0] = plain_accesses_[1] = crossings_[0] = crossings_[1] = 0;
}

void Hierarchy::clear() {
  for (Level& level : levels_)
    level.clear();
  if (tlb_)
    for (Level& level : tlb_->levels)
      level.clear();
}

Counts Hierarchy::counts() const {
  Counts all;
  for (const Level& level : levels_)
    all.levels.push_back(level.counts);
  if (tlb_)
    for (const Level& level : tlb_->levels)
      all.tlb.push_back(level.counts);
  for (const Cause cause : {Cause::load, Cause::store})
    all.levels.front().accesses[number(cause)] += plain_accesses_[number(cause)];
  all.memory = memory_;
  const LevelCounts& first = all.levels.front();
  all.loads = first.accessed(Cause::load) - crossings_[number(Cause::load)];
  all.stores = first.accessed(Cause::store) - crossings_[number(Cause::store)];
  return all;
}

Hierarchy::State Hierarchy::state() const {
  State words;
  save(words);
  return words;
}

void Hierarchy::save(State& words) const {
  for (const Level& level : levels_)
    level.save(words);
  if (tlb_)
    for (const Level& level : tlb_->levels)
      level.save(words);
}

void Hierarchy::drain(std::span<std::int64_t> sums) {
  const auto take = [&](LevelCounts& counts) {
    for (std::int64_t* const field : counts.fields()) {
      sums.front() += *field;
      *field = 0;
      sums = sums.subspan(1);
    }
  };
  for (const Cause cause : {Cause::load, Cause::store}) {
    levels_.front().counts.accesses[number(cause)] += plain_accesses_[number(cause)];
    plain_accesses_[number(cause)] = 0;
  }
  for (Level& level : levels_)
    take(level.counts);
  take(memory_);
}

void Hierarchy::restore(const State& state) {
  std::span<const std::uint64_t> words = state;
  for (Level& level : levels_)
    level.restore(words);
  if (tlb_)
    for (Level& level : tlb_->levels)
      level.restore(words);
}

bool Hierarchy::is(const State& state) const {
  std::span<const std::uint64_t> words = state;
  for (const Level& level : levels_)
    if (!level.same(words)) return false;
  if (tlb_)
    for (const Level& level : tlb_->levels)
      if (!level.same(words)) return false;
  return words.empty();
}

void Hierarchy::add(const Counts& later, const Counts& earlier, std::int64_t times) {
  for (std::size_t at = 0; at < levels_.size(); ++at)
    levels_[at].counts.add(later.levels[at], earlier.levels[at], times);
  if (tlb_)
    for (std::size_t at = 0; at < tlb_->levels.size(); ++at)
      tlb_->levels[at].counts.add(later.tlb[at], earlier.tlb[at], times);
  memory_.add(later.memory, earlier.memory, times);
  const LevelCounts &l = later.levels.front(), &e = earlier.levels.front();
  const std::int64_t crossed[2] = {
      l.accessed(Cause::load) - e.accessed(Cause::load) - (later.loads - earlier.loads),
      l.accessed(Cause::store) - e.accessed(Cause::store) - (later.stores - earlier.stores)};
  for (std::size_t i = 0; i < 2; ++i)
    crossings_[i] += times * crossed[i];
}

} // namespace recount::model
