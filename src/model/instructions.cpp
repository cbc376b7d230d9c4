#include "model/instructions.hpp"

#include "model/hierarchy.hpp"

#include <algorithm>

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

Instructions::Instructions(const InstructionDescription& description, std::uint64_t seed)
    : cache(description.cache, seed) {
  for (const TlbLevel& level : description.tlb)
    tlb.emplace_back(level, ++seed);
}

void Instructions::reset_counters() {
  cache.counts = {};
  for (Level& level : tlb)
    level.counts = {};
}

void Instructions::clear() {
  cache.clear();
  for (Level& level : tlb)
    level.clear();
}

void Instructions::save(std::vector<std::uint64_t>& words) const {
  cache.save(words);
  for (const Level& level : tlb)
    level.save(words);
}

// Instruction fetches: through caches and TLBs of their own into the levels that also hold data.
void Hierarchy::fetch(std::uint64_t address, unsigned bytes) {
  constexpr std::uint64_t seed = 128; // differs from those of data caches and TLBs
  while (instructions_.size() <= core_)
    instructions_.emplace_back(machine_.instructions.value(), machine_.seed + seed);
  Level& cache = instructions_[core_].cache;
  const unsigned shift = cache.shift();
  for (std::uint64_t line = address >> shift, last = (address + bytes - 1) >> shift; line <= last; ++line) {
    const std::uint64_t from = line << shift, physical = physical_ ? (*physical_)(from) : from;
    translate_fetch(from);
    if (look_up(cache, physical >> shift)) continue;
    request(1, physical, Cause::fetch, false);
    insert(cache, physical >> shift);
  }
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
    const std::uint64_t parts = std::uint64_t{1} << (levels_[at].shift() - cache.shift());
    for (std::uint64_t part = 0; part < parts; ++part)
      if (cache.remove((address >> cache.shift()) + part) != Level::empty) ++cache.counts.invalidations;
  }
}

void Hierarchy::count_instructions(Counts& all) const {
  for (const Instructions& one : instructions_) {
    all.instruction_tlb.resize(one.tlb.size());
    all.instructions.add(one.cache.counts, {}, 1);
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
  if (instructions_.empty()) return;
  instructions_.front().cache.counts.add(later.instructions, earlier.instructions, times);
  for (std::size_t at = 0; at < later.instruction_tlb.size(); ++at)
    instructions_.front().tlb[at].counts.add(later.instruction_tlb[at], earlier.instruction_tlb[at], times);
}

} // namespace recount::model
