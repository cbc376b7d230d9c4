#include "reference.hpp"

namespace reference {

namespace {

void one_more(std::array<std::int64_t, recount::model::causes>& counter, recount::model::Cause cause) {
  counter[static_cast<std::size_t>(cause)] += 1;
}

} // namespace

Cache::Cache(std::int64_t sets, std::int64_t ways, recount::model::Policy policy, std::uint64_t seed)
    : policy_(policy), random_(seed) {
  const auto n = static_cast<std::size_t>(ways);
  sets_.resize(static_cast<std::size_t>(sets), Set{std::vector<Slot>(n), std::vector<bool>(n, false)});
}

Slot* Cache::find(std::uint64_t line) {
  for (Slot& slot : set(line).slots)
    if (slot.full && slot.line == line) return &slot;
  return nullptr;
}

void Cache::mark_used(std::uint64_t line) {
  Slot* const slot = find(line);
  if (slot == nullptr) return;
  slot->used = ++now_;
  if (policy_ != recount::model::Policy::plru) return;
  // From the root down: the half that does not hold the slot is next to be replaced.
  Set& s = set(line);
  std::size_t low = 0, high = s.slots.size(), node = 0;
  const auto way = static_cast<std::size_t>(slot - s.slots.data());
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    const bool in_right = way >= middle;
    s.right_next[node] = !in_right;
    node = 2 * node + (in_right ? 2 : 1);
    (in_right ? low : high) = middle;
  }
}

std::size_t Cache::choose(Set& s) {
  for (std::size_t i = 0; i < s.slots.size(); ++i)
    if (!s.slots[i].full) return i;
  std::size_t best = 0;
  switch (policy_) {
  case recount::model::Policy::lru:
    for (std::size_t i = 1; i < s.slots.size(); ++i)
      if (s.slots[i].used < s.slots[best].used) best = i;
    return best;
  case recount::model::Policy::fifo:
    for (std::size_t i = 1; i < s.slots.size(); ++i)
      if (s.slots[i].arrived < s.slots[best].arrived) best = i;
    return best;
  case recount::model::Policy::plru: {
    std::size_t low = 0, high = s.slots.size(), node = 0;
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      const bool right = s.right_next[node];
      node = 2 * node + (right ? 2 : 1);
      (right ? low : high) = middle;
    }
    return low;
  }
  case recount::model::Policy::random: break;
  }
  // splitmix64, and the high word of its product with the number of ways, by 32-bit halves.
  random_ += 0x9e3779b97f4a7c15u;
  std::uint64_t z = random_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  const std::uint64_t ways = s.slots.size();
  const std::uint64_t low_product = (z & 0xffffffffu) * ways;
  return static_cast<std::size_t>(((z >> 32) * ways + (low_product >> 32)) >> 32);
}

Slot Cache::place(std::uint64_t line, bool dirty) {
  Set& s = set(line);
  Slot& slot = s.slots[choose(s)];
  const Slot left = slot;
  slot = Slot{true, dirty, line, 0, ++now_};
  mark_used(line);
  return left;
}

Simulator::Simulator(const recount::model::MachineDescription& machine) : machine_(machine) {
  std::uint64_t seed = machine.seed;
  for (const recount::model::LevelDescription& level : machine.levels)
    caches_.emplace_back(level.sets(), level.ways, level.policy, seed++);
  counts.levels.resize(caches_.size());
  if (!machine.tlb) return;
  for (const recount::model::TlbLevel& level : machine.tlb->levels)
    tlbs_.emplace_back(level.sets(), level.ways, recount::model::Policy::lru, 0);
  counts.tlb.resize(tlbs_.size());
}

void Simulator::access(std::uint64_t address, unsigned bytes, recount::model::Cause cause) {
  (cause == recount::model::Cause::load ? counts.loads : counts.stores) += 1;
  const auto line = static_cast<std::uint64_t>(machine_.levels[0].line);
  for (std::uint64_t l = address / line; l <= (address + bytes - 1) / line; ++l) {
    if (machine_.tlb) translate(l * line, cause);
    ask(0, l * line, cause, cause == recount::model::Cause::store);
  }
}

void Simulator::translate(std::uint64_t address, recount::model::Cause cause) {
  const std::uint64_t page = address / static_cast<std::uint64_t>(machine_.tlb->page);
  std::size_t found = 0;
  for (; found < tlbs_.size(); ++found) {
    one_more(counts.tlb[found].accesses, cause);
    if (tlbs_[found].find(page) != nullptr) break;
    one_more(counts.tlb[found].misses, cause);
  }
  for (std::size_t i = 0; i < found; ++i)
    if (tlbs_[i].place(page, false).full) counts.tlb[i].evictions += 1;
  if (found < tlbs_.size())
    tlbs_[found].mark_used(page);
  else
    ask(0, (std::uint64_t{1} << 60) + 8 * page, recount::model::Cause::walk, false);
}

bool Simulator::ask(std::size_t i, std::uint64_t address, recount::model::Cause cause, bool write) {
  if (i == caches_.size()) {
    one_more(counts.memory.accesses, cause);
    return false;
  }
  const recount::model::LevelDescription& as = machine_.levels[i];
  const auto bytes = static_cast<std::uint64_t>(as.line);
  const std::uint64_t line = address / bytes;
  one_more(at(i).accesses, cause);
  if (Slot* const slot = caches_[i].find(line)) {
    caches_[i].mark_used(line);
    if (write && as.write == recount::model::Write::back) slot->dirty = true;
    if (write && as.write == recount::model::Write::through) ask(i + 1, address, cause, true);
    bool moves_up_dirty = false;
    if (!write && as.inclusion == recount::model::Inclusion::exclusive) {
      moves_up_dirty = slot->dirty;
      *slot = Slot{};
    }
    return moves_up_dirty;
  }
  one_more(at(i).misses, cause);
  const bool stores_pass = as.inclusion == recount::model::Inclusion::exclusive || !as.allocate;
  if (write && stores_pass) {
    ask(i + 1, address, cause, true);
    return false;
  }
  const bool dirty_below = ask(i + 1, address, cause, false);
  if (as.inclusion == recount::model::Inclusion::exclusive) return dirty_below;
  take_in(i, address, dirty_below || (write && as.write == recount::model::Write::back));
  if (write && as.write == recount::model::Write::through) ask(i + 1, address, cause, true);
  const bool demand = cause == recount::model::Cause::load || cause == recount::model::Cause::store;
  const std::uint64_t next = (line + 1) * bytes;
  if (demand && as.prefetch == recount::model::Prefetch::next_line && (line * bytes) / 4096 == next / 4096) {
    at(i).prefetches += 1;
    if (caches_[i].find(line + 1) == nullptr)
      take_in(i, next, ask(i + 1, next, recount::model::Cause::prefetch, false));
  }
  return false;
}

void Simulator::give(std::size_t i, std::uint64_t address, recount::model::Cause cause,
                     std::int64_t line_above) {
  if (i == caches_.size()) {
    one_more(counts.memory.accesses, cause);
    return;
  }
  const recount::model::LevelDescription& as = machine_.levels[i];
  const std::uint64_t line = address / static_cast<std::uint64_t>(as.line);
  const bool dirty = cause == recount::model::Cause::write_back;
  one_more(at(i).accesses, cause);
  if (Slot* const slot = caches_[i].find(line)) {
    caches_[i].mark_used(line);
    if (dirty && as.write == recount::model::Write::back) slot->dirty = true;
  } else {
    one_more(at(i).misses, cause);
    if (!as.allocate) {
      give(i + 1, address, cause, line_above);
      return;
    }
    bool dirty_here = dirty && as.write == recount::model::Write::back;
    if (line_above < as.line && ask(i + 1, address, recount::model::Cause::refill, false)) dirty_here = true;
    take_in(i, address, dirty_here);
  }
  if (dirty && as.write == recount::model::Write::through) give(i + 1, address, cause, line_above);
}

void Simulator::take_in(std::size_t i, std::uint64_t address, bool dirty) {
  const auto bytes = static_cast<std::uint64_t>(machine_.levels[i].line);
  const Slot left = caches_[i].place(address / bytes, dirty);
  if (left.full) throw_out(i, left.line * bytes, left.dirty);
}

void Simulator::throw_out(std::size_t i, std::uint64_t address, bool dirty) {
  at(i).evictions += 1;
  if (machine_.levels[i].inclusion == recount::model::Inclusion::inclusive)
    for (std::size_t above = 0; above < i; ++above)
      for (std::int64_t byte = 0; byte < machine_.levels[i].line; byte += machine_.levels[above].line) {
        const std::uint64_t part = address + static_cast<std::uint64_t>(byte);
        Slot* const copy =
            caches_[above].find(part / static_cast<std::uint64_t>(machine_.levels[above].line));
        if (copy == nullptr) continue;
        dirty = dirty || copy->dirty;
        *copy = Slot{};
        at(above).invalidations += 1;
      }
  const bool exclusive_below =
      i + 1 < caches_.size() && machine_.levels[i + 1].inclusion == recount::model::Inclusion::exclusive;
  if (dirty) at(i).write_backs += 1;
  if (dirty || exclusive_below)
    give(i + 1, address, dirty ? recount::model::Cause::write_back : recount::model::Cause::victim,
         machine_.levels[i].line);
}

} // namespace reference
