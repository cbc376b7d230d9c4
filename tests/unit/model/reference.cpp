#include "reference.hpp"

#include <algorithm>

namespace reference {

using namespace recount::model;

namespace {

void one_more(std::array<std::int64_t, causes>& counter, Cause cause) {
  counter[static_cast<std::size_t>(cause)] += 1;
}

} // namespace

Cache::Cache(std::int64_t sets, std::int64_t ways, Policy policy, std::uint64_t seed,
             const std::vector<std::uint64_t>& masks, const Qlru& qlru)
    : policy_(policy), masks_(masks), qlru_(qlru), random_(seed) {
  const auto n = static_cast<std::size_t>(ways);
  Set set{std::vector<Slot>(n), std::vector<bool>(4 * n, false), std::vector<int>(n, 3), {}};
  for (std::size_t group = 0; group < (n + 3) / 4; ++group)
    set.group_used.push_back(-static_cast<long>(group)); // before any use the first was used last
  sets_.resize(static_cast<std::size_t>(sets), set);
}

// Bit i of the set: the line's bits that mask i selects, added up one by one, modulo two.
Set& Cache::set(std::uint64_t line) {
  const std::vector<std::uint64_t>& masks = line < huge ? masks_ : huge_masks;
  line %= huge;
  if (masks.empty()) return sets_[line % sets_.size()];
  std::size_t number = 0, value = 1;
  for (const std::uint64_t mask : masks) {
    std::uint64_t ones = 0;
    for (int bit = 0; bit < 64; ++bit)
      ones += (line >> bit) % 2 * ((mask >> bit) % 2);
    number += ones % 2 * value;
    value *= 2;
  }
  return sets_[number];
}

Slot* Cache::find(std::uint64_t line) {
  for (Slot& slot : set(line).slots)
    if (slot.full && slot.line == line) return &slot;
  return nullptr;
}

// From the root down: the half that does not hold the way is next to be replaced. The tree of `size` leaves
// from way `low` on has its nodes from 4 * low on.
void Cache::mark_tree(Set& s, std::size_t way, std::size_t low, std::size_t size) {
  std::size_t first = low, last = low + size, node = 0;
  while (last - first > 1) {
    const std::size_t middle = (first + last) / 2;
    const bool in_right = way >= middle;
    s.right_next[3 * low + node] = !in_right;
    node = 2 * node + (in_right ? 2 : 1);
    (in_right ? first : last) = middle;
  }
}

std::size_t Cache::pointed_at(const Set& s, std::size_t low, std::size_t size) {
  std::size_t first = low, last = low + size, node = 0;
  while (last - first > 1) {
    const std::size_t middle = (first + last) / 2;
    const bool right = s.right_next[3 * low + node];
    node = 2 * node + (right ? 2 : 1);
    (right ? first : last) = middle;
  }
  return first;
}

void Cache::update_ages(Set& s, int but) const {
  const int n = static_cast<int>(s.ages.size());
  int greatest = -1;
  for (int i = 0; i < n; ++i)
    if (!(qlru_.update == 1 && i == but)) greatest = std::max(greatest, s.ages[static_cast<std::size_t>(i)]);
  if (greatest < 0) return;
  for (int i = 0; i < n; ++i) {
    int& age = s.ages[static_cast<std::size_t>(i)];
    if (qlru_.update == 0) age += 3 - greatest;
    if (qlru_.update == 1 && i != but) age += 3 - greatest;
    if (qlru_.update == 2 && greatest < 3) age += 1;
    if (qlru_.update == 3 && greatest < 3 && i != but) age += 1;
  }
}

void Cache::mark_used(std::uint64_t line) {
  Slot* const slot = find(line);
  if (slot == nullptr) return;
  slot->used = ++now_;
  Set& s = set(line);
  const auto way = static_cast<std::size_t>(slot - s.slots.data());
  std::size_t leaves = 1;
  while (leaves < s.slots.size())
    leaves *= 2;
  if (policy_ == Policy::plru) mark_tree(s, way, 0, leaves);
  if (policy_ == Policy::lru_plru4) {
    mark_tree(s, way, way / 4 * 4, 4);
    s.group_used[way / 4] = now_;
  }
  if (policy_ == Policy::qlru) {
    int& age = s.ages[way];
    if (slot->arrived == 0) // it comes in
      age = static_cast<int>(qlru_.miss);
    else if (age < 2)
      age = 0;
    else
      age = static_cast<int>(qlru_.hit[static_cast<std::size_t>(age)]);
    if (!qlru_.on_miss_only) update_ages(s, static_cast<int>(way));
  }
}

std::size_t Cache::choose(Set& s) {
  if (policy_ == Policy::qlru && qlru_.on_miss_only) update_ages(s, -1);
  std::vector<std::size_t> vacant;
  for (std::size_t i = 0; i < s.slots.size(); ++i)
    if (!s.slots[i].full) vacant.push_back(i);
  if (!vacant.empty()) return policy_ == Policy::qlru && qlru_.replace == 2 ? vacant.back() : vacant.front();
  std::size_t best = 0;
  switch (policy_) {
  case Policy::lru:
    for (std::size_t i = 1; i < s.slots.size(); ++i)
      if (s.slots[i].used < s.slots[best].used) best = i;
    return best;
  case Policy::fifo:
    for (std::size_t i = 1; i < s.slots.size(); ++i)
      if (s.slots[i].arrived < s.slots[best].arrived) best = i;
    return best;
  case Policy::plru: {
    std::size_t leaves = 1;
    while (leaves < s.slots.size())
      leaves *= 2;
    return std::min(pointed_at(s, 0, leaves), s.slots.size() - 1);
  }
  case Policy::lru_plru4: {
    const auto oldest = std::min_element(s.group_used.begin(), s.group_used.end()) - s.group_used.begin();
    return pointed_at(s, 4 * static_cast<std::size_t>(oldest), 4);
  }
  case Policy::qlru: {
    const auto old = std::find(s.ages.begin(), s.ages.end(), 3);
    return old == s.ages.end() ? 0 : static_cast<std::size_t>(old - s.ages.begin());
  }
  case Policy::random: break;
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
  slot = Slot{true, dirty, line, 0, 0};
  mark_used(line);
  slot.arrived = ++now_;
  return left;
}

namespace {

std::uint64_t splitmix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state;
  z = (z ^ z / (1ull << 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z / (1ull << 27)) * 0x94d049bb133111ebu;
  return z ^ z / (1ull << 31);
}

std::uint64_t below(std::uint64_t random, std::uint64_t n) {
  return ((random / (1ull << 32)) * n + (random % (1ull << 32)) * n / (1ull << 32)) / (1ull << 32);
}

} // namespace

Pages::Pages(const Placement& placement) : placement_(placement) {
  std::uint64_t state = placement.draw * (1ull << 32);
  const std::uint64_t run = below(splitmix(state), 10);
  for (std::uint64_t i = 0; i < (placement.run ? *placement.run : run); ++i)
    run_bytes_ *= 2;
  run_bytes_ = std::max(run_bytes_, static_cast<std::uint64_t>(placement.page));
  key_ = splitmix(state);
  arrays_ = splitmix(state);
}

bool Pages::huge(std::uint64_t address) const {
  if (!placement_.mixed || address >= 1ull << 60) return false;
  std::uint64_t bits = arrays_;
  for (std::uint64_t array = address / (1ull << 41) % 64; array > 0; --array)
    bits /= 2;
  return bits % 2 == 1;
}

std::uint64_t Pages::physical(std::uint64_t address) const {
  if (placement_.contiguous) return address;
  const std::uint64_t bytes = huge(address) ? static_cast<std::uint64_t>(placement_.huge_page) : run_bytes_;
  const std::uint64_t space = placement_.mixed ? 1ull << 59 : 1ull << 60, top = address / space * space;
  const std::uint64_t runs = space / bytes;
  std::uint64_t run = (address - top) / bytes;
  run = (run + key_ % runs) % runs;
  run = run * 0xbf58476d1ce4e5b9u % runs; // the product modulo 2^64 is right modulo a smaller power of two
  run ^= run / (1u << 20);
  run = run * 0x94d049bb133111ebu % runs;
  run ^= run / (1u << 20);
  return top + run * bytes + address % bytes + (huge(address) ? space : 0);
}

std::uint64_t Pages::base(std::uint64_t assumed, unsigned array) const {
  std::uint64_t state = placement_.draw * (1ull << 32) + 2 + array;
  const auto page = static_cast<std::uint64_t>(placement_.page);
  return assumed + array * (1ull << 41) + page * below(splitmix(state), (1ull << 32) / page);
}

Simulator::Simulator(const MachineDescription& machine) : machine_(machine) {
  std::uint64_t seed = machine.seed;
  Core core;
  for (const LevelDescription& level : machine.levels) {
    core.caches.emplace_back(level.sets(), level.ways, level.policy, seed++, level.index, level.qlru);
    if (!level.shared) ++private_;
  }
  const std::size_t levels = core.caches.size();
  counts.levels.resize(levels);
  counts.prefetch.resize(levels);
  core.pages.resize(levels);
  core.untouched.resize(levels);
  core.stolen.resize(levels);
  seed = machine.seed + 64;
  if (machine.tlb) {
    for (const TlbLevel& level : machine.tlb->levels)
      core.tlbs.emplace_back(level.sets(), level.ways, level.policy, seed++, level.index, level.qlru);
    for (std::size_t i = 0; i < core.tlbs.size(); ++i)
      core.tlbs[i].huge_masks =
          i < machine.tlb->huge.size() ? machine.tlb->huge[i].index : machine.tlb->levels[i].index;
    for (const TlbLevel& level : machine.tlb->walk)
      core.walks.emplace_back(level.sets(), level.ways, level.policy, seed++, level.index, level.qlru);
  }
  if (machine.tlb)
    for (const TlbLevel& level : machine.tlb->huge)
      core.huge_tlbs.emplace_back(level.sets(), level.ways, level.policy, seed++, level.index, level.qlru);
  if (machine.instructions) {
    seed = machine.seed + 128;
    const LevelDescription& level = machine.instructions->cache;
    core.instructions.emplace_back(level.sets(), level.ways, level.policy, seed++, level.index, level.qlru);
    for (const TlbLevel& tlb : machine.instructions->tlb)
      core.instruction_tlbs.emplace_back(tlb.sets(), tlb.ways, tlb.policy, seed++, tlb.index, tlb.qlru);
  }
  counts.tlb.resize(core.tlbs.size());
  cores_.resize(static_cast<std::size_t>(machine.cores), core);
}

void Simulator::access(std::uint64_t address, unsigned bytes, Cause cause) {
  (cause == Cause::load ? counts.loads : counts.stores) += 1;
  const auto line = static_cast<std::uint64_t>(machine_.levels[0].line);
  for (std::uint64_t l = address / line; l <= (address + bytes - 1) / line; ++l) {
    if (machine_.tlb) translate(l * line, cause);
    if (cause == Cause::store) publish(physical(l * line), true);
    ask(0, physical(l * line), cause, cause == Cause::store);
  }
}

/// What other cores have stored to the block of an address goes to the shared levels; they lose the block if
/// this core stores.
void Simulator::publish(std::uint64_t address, bool stores) {
  const std::int64_t block = machine_.levels[private_ - 1].line;
  const std::uint64_t begin = address - address % static_cast<std::uint64_t>(block);
  for (std::size_t c = 0; c < cores_.size(); ++c) {
    bool any_dirty = false;
    for (std::size_t i = 0; c != current_ && i < private_; ++i)
      for (std::int64_t byte = 0; byte < block; byte += machine_.levels[i].line) {
        const std::uint64_t line =
            (begin + static_cast<std::uint64_t>(byte)) / static_cast<std::uint64_t>(machine_.levels[i].line);
        Slot* const slot = cores_[c].caches[i].find(line);
        if (slot == nullptr) continue;
        if (slot->dirty) at(i).coherence_write_backs += 1;
        any_dirty = any_dirty || slot->dirty;
        slot->dirty = false;
        if (!stores) continue;
        *slot = Slot{};
        at(i).coherence_invalidations += 1;
        cores_[c].stolen[i].insert(line);
        unused(cores_[c], i, line);
      }
    if (any_dirty) give(private_, begin, Cause::write_back, block);
  }
}

void Simulator::unused(Core& core, std::size_t i, std::uint64_t line) {
  const auto found = core.untouched[i].find(line);
  if (found == core.untouched[i].end()) return;
  done(i, found->second).useless += 1;
  core.untouched[i].erase(found);
}

void Simulator::translate(std::uint64_t address, Cause cause) {
  const TlbDescription& as = *machine_.tlb;
  const auto small = static_cast<std::uint64_t>(as.page), large = static_cast<std::uint64_t>(as.huge_page);
  const bool huge = machine_.placement && Pages(*machine_.placement).huge(address);
  const std::uint64_t page = huge ? address / large : address / small;
  const bool own = huge && !as.huge.empty();
  const std::size_t n = own ? as.huge.size() : as.levels.size();
  const auto shared = [&](std::size_t i) { return !own || as.huge[i].shared; };
  const auto entries = [&](std::size_t i) -> Cache& { return shared(i) ? of().tlbs[i] : of().huge_tlbs[i]; };
  const auto key = [&](std::size_t i) { return huge && shared(i) ? Cache::huge + page : page; };
  std::size_t found = 0;
  for (; found < n; ++found) {
    one_more(counts.tlb[found].accesses, cause);
    if (entries(found).find(key(found)) != nullptr) break;
    one_more(counts.tlb[found].misses, cause);
  }
  for (std::size_t i = found; found == n && i < counts.tlb.size(); ++i) {
    one_more(counts.tlb[i].accesses, cause);
    one_more(counts.tlb[i].misses, cause);
  }
  for (std::size_t i = 0; i < found; ++i)
    if (entries(i).place(key(i), false).full) counts.tlb[i].evictions += 1;
  if (found < n) {
    entries(found).mark_used(key(found));
    return;
  }
  read_table(huge ? address / large * large / small : page, huge);
}

/// `page`: the first small one of a huge one.
void Simulator::read_table(std::uint64_t page, bool huge) {
  const TlbDescription& as = *machine_.tlb;
  const auto small = static_cast<std::uint64_t>(as.page), large = static_cast<std::uint64_t>(as.huge_page);
  // Down the page table, from below the first level whose part is known, to the level with the page's entry.
  std::size_t last = 0;
  std::uint64_t reach = small;
  std::vector<std::uint64_t> parts{page};
  for (; huge && reach * 512 <= large; reach *= 512) {
    parts.push_back(parts.back() / 512);
    ++last;
  }
  for (std::size_t i = last; i < of().walks.size(); ++i) {
    const std::uint64_t part = parts.back() / 512;
    if (of().walks[i].find(part) != nullptr) {
      of().walks[i].mark_used(part);
      break;
    }
    parts.push_back(part);
  }
  for (std::size_t above = parts.size() - 1; above > last; --above) {
    of().walks[above - 1].place(parts[above], false);
    ask(0, physical((16 + above) * (std::uint64_t{1} << 56) + 8 * parts[above]), Cause::walk, false);
  }
  ask(0, physical((16 + last) * (std::uint64_t{1} << 56) + 8 * parts[last]), Cause::walk, false);
}

void Simulator::fetch(std::uint64_t address, unsigned bytes) {
  const auto line = static_cast<std::uint64_t>(machine_.instructions->cache.line);
  counts.fetched = true;
  counts.instruction_tlb.resize(machine_.instructions->tlb.size());
  for (std::uint64_t l = address / line; l <= (address + bytes - 1) / line; ++l) {
    if (!of().instruction_tlbs.empty())
      translate_fetch(l * line / static_cast<std::uint64_t>(machine_.tlb->page));
    const std::uint64_t at_memory = physical(l * line);
    Cache& cache = of().instructions[0];
    one_more(counts.instructions.accesses, Cause::fetch);
    if (cache.find(at_memory / line) != nullptr) {
      cache.mark_used(at_memory / line);
      continue;
    }
    one_more(counts.instructions.misses, Cause::fetch);
    ask(1, at_memory, Cause::fetch, false);
    if (cache.place(at_memory / line, false).full) counts.instructions.evictions += 1;
  }
}

void Simulator::translate_fetch(std::uint64_t page) {
  const std::vector<TlbLevel>& as = machine_.instructions->tlb;
  const auto entries = [&](std::size_t i) -> Cache& {
    return as[i].shared ? of().tlbs[i] : of().instruction_tlbs[i];
  };
  std::size_t found = 0;
  for (; found < as.size(); ++found) {
    one_more(counts.instruction_tlb[found].accesses, Cause::fetch);
    if (as[found].shared) one_more(counts.tlb[found].accesses, Cause::fetch);
    if (entries(found).find(page) != nullptr) break;
    one_more(counts.instruction_tlb[found].misses, Cause::fetch);
    if (as[found].shared) one_more(counts.tlb[found].misses, Cause::fetch);
  }
  for (std::size_t i = 0; i < found; ++i)
    if (entries(i).place(page, false).full)
      (as[i].shared ? counts.tlb[i] : counts.instruction_tlb[i]).evictions += 1;
  if (found < as.size())
    entries(found).mark_used(page);
  else
    read_table(page, false);
}

bool Simulator::ask(std::size_t i, std::uint64_t address, Cause cause, bool write) {
  if (i == private_) publish(address, false);
  if (i == machine_.levels.size()) {
    one_more(counts.memory.accesses, cause);
    return false;
  }
  const LevelDescription& as = machine_.levels[i];
  const auto bytes = static_cast<std::uint64_t>(as.line);
  const std::uint64_t line = address / bytes;
  one_more(at(i).accesses, cause);
  if (Slot* const slot = of(i).caches[i].find(line)) {
    of(i).caches[i].mark_used(line);
    if (write && as.write == Write::back) slot->dirty = true;
    if (write && as.write == Write::through) ask(i + 1, address, cause, true);
    prefetch(i, line, cause, false);
    bool moves_up_dirty = false;
    if (!write && as.inclusion == Inclusion::exclusive) {
      moves_up_dirty = slot->dirty;
      *slot = Slot{};
    }
    return moves_up_dirty;
  }
  one_more(at(i).misses, cause);
  if ((cause == Cause::load || cause == Cause::store) && of(i).stolen[i].contains(line))
    at(i).coherence_misses += 1;
  const bool stores_pass = as.inclusion == Inclusion::exclusive || !as.allocate;
  if (write && stores_pass) {
    ask(i + 1, address, cause, true);
    return false;
  }
  const bool dirty_below = ask(i + 1, address, cause, false);
  if (as.inclusion == Inclusion::exclusive) return dirty_below;
  take_in(i, address, dirty_below || (write && as.write == Write::back));
  if (write && as.write == Write::through) ask(i + 1, address, cause, true);
  prefetch(i, line, cause, true);
  return false;
}

void Simulator::prefetch(std::size_t i, std::uint64_t line, Cause cause, bool missed) {
  if (cause == Cause::write_back || cause == Cause::victim || cause == Cause::refill) return;
  auto& untouched = of(i).untouched[i];
  if (const auto found = untouched.find(line); !missed && found != untouched.end()) {
    done(i, found->second).useful += 1;
    untouched.erase(found);
  }
  const std::uint64_t a_page = 4096 / static_cast<std::uint64_t>(machine_.levels[i].line);
  for (const Prefetcher& by : machine_.levels[i].prefetch)
    switch (by.kind) {
    case Prefetch::next_line:
      if (missed && cause != Cause::walk && (line + 1) % a_page != 0) fetch(i, line + 1, by.kind);
      break;
    case Prefetch::adjacent_line:
      if (missed) fetch(i, line % 2 == 0 ? line + 1 : line - 1, by.kind);
      break;
    case Prefetch::streamer:
      if (cause == Cause::walk) break;
      for (const std::uint64_t next : stream(i, by, line))
        fetch(i, next, by.kind);
    }
}

void Simulator::fetch(std::size_t i, std::uint64_t line, Prefetch kind) {
  at(i).prefetches += 1;
  done(i, kind).requests += 1;
  if (of(i).caches[i].find(line) != nullptr) return;
  done(i, kind).fetches += 1;
  const std::uint64_t address = line * static_cast<std::uint64_t>(machine_.levels[i].line);
  const bool dirty = ask(i + 1, address, Cause::prefetch, false);
  of(i).untouched[i][line] = kind;
  take_in(i, address, dirty);
}

/// The lines that a streamer asks for after an access.
std::vector<std::uint64_t> Simulator::stream(std::size_t i, const Prefetcher& by, std::uint64_t line) {
  const std::uint64_t a_page = 4096 / static_cast<std::uint64_t>(machine_.levels[i].line);
  auto& pages = of(i).pages[i];
  if (!pages.contains(line / a_page) && pages.size() == static_cast<std::size_t>(by.streams)) {
    auto oldest = pages.begin();
    for (auto at = pages.begin(); at != pages.end(); ++at)
      if (at->second.used < oldest->second.used) oldest = at;
    pages.erase(oldest);
  }
  Page& page = pages[line / a_page];
  page.used = ++now_;
  auto& lines = page.lines;
  if (!lines.empty() && lines.back() == line) return {};
  lines.push_back(line);
  if (lines.size() == 1) return {};
  const bool up = line > lines[lines.size() - 2];
  std::size_t run = 1; // accesses that lead here in one direction
  while (run < lines.size() && (lines[lines.size() - run] > lines[lines.size() - run - 1]) == up)
    ++run;
  if (run == 2) page.farthest = line; // it has turned round
  if (run < static_cast<std::size_t>(by.trigger)) return {};
  page.farthest = up ? std::max(page.farthest, line) : std::min(page.farthest, line);
  std::vector<std::uint64_t> next;
  for (std::int64_t n = 0; n < by.degree; ++n) {
    const std::uint64_t candidate = up ? page.farthest + 1 : page.farthest - 1;
    const std::uint64_t away = up ? candidate - line : line - candidate;
    if (candidate / a_page != line / a_page || away > static_cast<std::uint64_t>(by.distance)) break;
    next.push_back(page.farthest = candidate);
  }
  return next;
}

void Simulator::give(std::size_t i, std::uint64_t address, Cause cause, std::int64_t line_above) {
  if (i == machine_.levels.size()) {
    one_more(counts.memory.accesses, cause);
    return;
  }
  const LevelDescription& as = machine_.levels[i];
  const std::uint64_t line = address / static_cast<std::uint64_t>(as.line);
  const bool dirty = cause == Cause::write_back;
  one_more(at(i).accesses, cause);
  if (Slot* const slot = of(i).caches[i].find(line)) {
    of(i).caches[i].mark_used(line);
    if (dirty && as.write == Write::back) slot->dirty = true;
  } else {
    one_more(at(i).misses, cause);
    if (!as.allocate) {
      give(i + 1, address, cause, line_above);
      return;
    }
    bool dirty_here = dirty && as.write == Write::back;
    if (line_above < as.line && ask(i + 1, address, Cause::refill, false)) dirty_here = true;
    take_in(i, address, dirty_here);
  }
  if (dirty && as.write == Write::through) give(i + 1, address, cause, line_above);
}

void Simulator::take_in(std::size_t i, std::uint64_t address, bool dirty) {
  const auto bytes = static_cast<std::uint64_t>(machine_.levels[i].line);
  const std::uint64_t line = address / bytes;
  Cache& cache = of(i).caches[i];
  const Slot left = cache.place(line, dirty);
  of(i).stolen[i].erase(line);
  if (left.full) throw_out(i, left);
}

void Simulator::throw_out(std::size_t i, const Slot& left) {
  const std::uint64_t address = left.line * static_cast<std::uint64_t>(machine_.levels[i].line);
  bool dirty = left.dirty;
  at(i).evictions += 1;
  unused(of(i), i, left.line);
  if (machine_.levels[i].inclusion == Inclusion::inclusive)
    for (std::size_t above = 0; above < i; ++above)
      for (Core& core : cores_) {
        if (i < private_ ? &core != &of() : above >= private_ && &core != cores_.data()) continue;
        for (std::int64_t byte = 0; byte < machine_.levels[i].line; byte += machine_.levels[above].line) {
          const std::uint64_t part = address + static_cast<std::uint64_t>(byte);
          Slot* const copy =
              core.caches[above].find(part / static_cast<std::uint64_t>(machine_.levels[above].line));
          if (copy == nullptr) continue;
          dirty = dirty || copy->dirty;
          unused(core, above, copy->line);
          *copy = Slot{};
          at(above).invalidations += 1;
        }
      }
  if (machine_.levels[i].inclusion == Inclusion::inclusive && machine_.instructions)
    for (Core& core : cores_) {
      const std::int64_t part = machine_.instructions->cache.line;
      for (std::int64_t byte = 0; byte < machine_.levels[i].line; byte += part) {
        Slot* const copy = core.instructions[0].find((address + static_cast<std::uint64_t>(byte)) /
                                                     static_cast<std::uint64_t>(part));
        if (copy == nullptr || (i < private_ && &core != &of())) continue;
        *copy = Slot{};
        counts.instructions.invalidations += 1;
      }
    }
  const bool exclusive_below =
      i + 1 < machine_.levels.size() && machine_.levels[i + 1].inclusion == Inclusion::exclusive;
  if (dirty) at(i).write_backs += 1;
  if (dirty || exclusive_below)
    give(i + 1, address, dirty ? Cause::write_back : Cause::victim, machine_.levels[i].line);
}

} // namespace reference
