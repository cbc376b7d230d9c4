// Random hierarchies and traces, small enough that everything happens in a few hundred accesses.
#pragma once

#include "model/machine.hpp"
#include "model/sets.hpp"

#include <bit>
#include <random>
#include <sstream>
#include <string>
#include <vector>

struct Access {
  bool store = false;
  std::uint64_t address = 0;
  unsigned bytes = 1;
  std::uint64_t core = 0; // modulo those of the machine
  bool fetch = false;     // of instructions, in place of a load or store
};

class Chance {
public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  std::int64_t from(std::int64_t low, std::int64_t high) { // inclusive
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool one_in(std::int64_t n) { return from(1, n) == 1; }

private:
  std::mt19937_64 engine_;
};

/// Masks for so many sets, if they are a power of two. With `low`, bit i of the set is bit i of the line XOR
/// higher bits, as in processors; else any masks that use every set.
inline std::vector<std::uint64_t> random_masks(Chance& chance, std::int64_t sets, bool low) {
  std::vector<std::uint64_t> masks;
  if (sets < 2 || !std::has_single_bit(static_cast<std::uint64_t>(sets))) return masks;
  for (int i = 0; std::int64_t{1} << i < sets; ++i)
    masks.push_back(std::uint64_t{1} << i |
                    static_cast<std::uint64_t>(chance.from(0, 255)) * static_cast<std::uint64_t>(sets));
  if (!low) // XOR of one mask into another keeps them independent
    for (std::size_t i = 1; i < masks.size(); ++i)
      masks[i - 1] ^= masks[i];
  return masks;
}

/// One or more, in any order.
inline std::vector<recount::model::Prefetcher> random_prefetchers(Chance& chance) {
  using namespace recount::model;
  std::vector<Prefetcher> all;
  for (std::size_t kind = 0; kind < prefetch_kinds; ++kind) {
    if (chance.one_in(2)) continue;
    const Prefetcher one{static_cast<Prefetch>(kind), chance.from(1, 6), chance.from(2, 4), chance.from(1, 6),
                         chance.from(1, 3)};
    all.insert(chance.one_in(2) ? all.begin() : all.end(), one);
  }
  return all;
}

/// Of a LevelDescription or a TlbLevel.
inline void random_policy(Chance& chance, auto& level, bool first) {
  using namespace recount::model;
  level.policy = static_cast<Policy>(chance.from(0, first ? 4 : 5));
  if (level.policy == Policy::lru_plru4 && level.ways % 4 != 0) level.policy = Policy::plru;
  if (level.ways > 32 && has_word(level.policy)) level.policy = Policy::fifo; // most that a word describes
  if (level.policy != Policy::qlru) return;
  constexpr unsigned hits[5][2] = {{0, 0}, {1, 0}, {1, 1}, {2, 0}, {2, 1}}; // of ages 3 and 2
  const auto& hit = hits[chance.from(0, 4)];
  const auto update = static_cast<unsigned>(chance.from(0, 3));
  level.qlru = {{0, 0, hit[1], hit[0]},
                static_cast<unsigned>(chance.from(0, 3)),
                update > 1 ? 1 : static_cast<unsigned>(chance.from(0, 2)),
                update,
                chance.one_in(2)};
}

inline recount::model::LevelDescription random_level(Chance& chance, std::size_t i, std::int64_t line) {
  using namespace recount::model;
  LevelDescription level;
  level.name = "L" + std::to_string(i + 1);
  level.line = line;
  level.ways =
      chance.one_in(6) ? chance.from(9, 20) : chance.from(1, 8); // 16 and 32: limits inside the model
  if (chance.one_in(16)) level.ways = chance.from(33, 40);
  const std::int64_t sets = chance.from(1, 4) * chance.from(1, 3) + static_cast<std::int64_t>(i);
  level.size = level.line * level.ways * sets;
  if (chance.one_in(4)) level.index = random_masks(chance, sets, chance.one_in(2));
  random_policy(chance, level, i == 0);
  level.write = chance.one_in(4) ? Write::through : Write::back;
  level.allocate = !chance.one_in(4);
  if (chance.one_in(4)) level.prefetch = random_prefetchers(chance);
  return level;
}

/// Entries for huge pages, of which some levels are those of small ones.
inline void random_huge(Chance& chance, recount::model::TlbDescription& tlb) {
  tlb.huge_page = tlb.page << chance.from(0, 10);
  const auto levels = chance.from(1, std::ssize(tlb.levels));
  for (std::int64_t i = 0; i < levels; ++i) {
    const recount::model::TlbLevel& small = tlb.levels[static_cast<std::size_t>(i)];
    recount::model::TlbLevel level = small;
    level.shared = chance.one_in(2);
    if (!level.shared) {
      level.ways = chance.from(1, 4);
      level.entries = level.ways * chance.from(1, 4);
      random_policy(chance, level, i == 0);
      level.index.clear();
    }
    const recount::model::SetIndex of_small(static_cast<std::uint64_t>(small.sets()), small.index);
    if (chance.one_in(2) && of_small.invertible())
      level.index = random_masks(chance, level.sets(), chance.one_in(2));
    tlb.huge.push_back(level);
  }
}

/// Any valid machine; with `plain`, only LRU, write-back, allocating, non-inclusive levels without TLB.
inline recount::model::MachineDescription random_machine(Chance& chance, bool plain) {
  using namespace recount::model;
  MachineDescription machine;
  machine.name = "random";
  machine.seed = static_cast<std::uint64_t>(chance.from(1, 1000));
  const auto levels = static_cast<std::size_t>(chance.from(1, 4));
  std::int64_t line = std::int64_t{4} << chance.from(0, 4);
  for (std::size_t i = 0; i < levels; ++i) {
    if (i > 0 && chance.one_in(6)) line *= 2;
    LevelDescription level = random_level(chance, i, line);
    if (plain) {
      level.policy = Policy::lru;
      level.write = Write::back;
      level.allocate = true;
      level.prefetch.clear();
      level.index.clear();
    } else if (i > 0) {
      level.inclusion = static_cast<Inclusion>(chance.from(0, 2));
      const LevelDescription& above = machine.levels.back();
      if (level.inclusion == Inclusion::exclusive && (above.line != line || above.write == Write::through))
        level.inclusion = Inclusion::inclusive;
      if (level.inclusion == Inclusion::exclusive) {
        level.allocate = true;
        level.prefetch.clear();
      }
    }
    machine.levels.push_back(level);
  }
  if (chance.one_in(2)) {
    machine.cores = chance.from(1, 4);
    for (auto i = static_cast<std::size_t>(chance.from(1, 4)); i < levels; ++i)
      machine.levels[i].shared = true;
  }
  if (!plain && chance.one_in(3)) {
    TlbDescription tlb{std::int64_t{64} << chance.from(0, 2), {}};
    for (std::int64_t i = chance.from(1, 2); i > 0; --i) {
      const std::int64_t ways = chance.one_in(8)   ? chance.from(33, 40)
                                : chance.one_in(3) ? chance.from(9, 16)
                                                   : chance.from(1, 8);
      const std::int64_t sets = chance.from(1, 4);
      tlb.levels.push_back({ways * sets, ways});
      if (chance.one_in(3)) tlb.levels.back().index = random_masks(chance, sets, chance.one_in(2));
      if (sets > 1 && sets != 3 && chance.one_in(3)) tlb.levels.back().index = xor_masks(sets);
      if (chance.one_in(3)) random_policy(chance, tlb.levels.back(), tlb.levels.size() == 1);
    }
    for (std::int64_t i = chance.one_in(3) ? chance.from(1, 3) : 0; i > 0; --i) {
      const std::int64_t ways = chance.from(1, 4);
      tlb.walk.push_back({ways * chance.from(1, 2), ways});
      if (chance.one_in(3)) random_policy(chance, tlb.walk.back(), false);
    }
    if (chance.one_in(2)) random_huge(chance, tlb);
    machine.tlb = tlb;
  }
  return machine;
}

/// Caches of instructions, if the second level can take them.
inline void add_instructions(Chance& chance, recount::model::MachineDescription& machine) {
  using namespace recount::model;
  std::int64_t below = 64;
  if (machine.levels.size() > 1) below = machine.levels[1].line;
  if (machine.levels.size() > 1 && machine.levels[1].inclusion == Inclusion::exclusive) return;
  InstructionDescription& all = machine.instructions.emplace();
  const LevelDescription level =
      random_level(chance, 1, std::max<std::int64_t>(4, below >> chance.from(0, 2)));
  all.cache.name = "L1i";
  all.cache.line = level.line;
  all.cache.size = level.size;
  all.cache.ways = level.ways;
  all.cache.index = level.index;
  all.cache.policy = level.policy;
  all.cache.qlru = level.qlru;
  if (!machine.tlb || chance.one_in(4)) return;
  for (std::int64_t i = 0, levels = chance.from(1, 3); i < levels; ++i) {
    TlbLevel tlb;
    tlb.ways = chance.from(1, 5);
    tlb.entries = tlb.ways * chance.from(1, 4);
    random_policy(chance, tlb, false);
    if (i > 0 && i < std::ssize(machine.tlb->levels) && chance.one_in(2)) {
      tlb = machine.tlb->levels[static_cast<std::size_t>(i)];
      tlb.shared = true;
    }
    all.tlb.push_back(tlb);
  }
}

/// Sweeps, loops and scattered accesses over a region somewhat larger than the caches.
inline std::vector<Access> random_trace(Chance& chance, std::size_t length) {
  std::vector<Access> trace;
  const std::int64_t region = std::int64_t{64} << chance.from(0, 7);
  while (trace.size() < length) {
    const std::int64_t start = chance.from(0, region), stride = chance.from(1, 80), n = chance.from(1, 40);
    const bool scattered = chance.one_in(3);
    const std::int64_t stores_in = chance.from(1, 4), core = chance.from(-1, 3);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = scattered ? chance.from(0, region) : (start + i * stride) % region;
      trace.push_back({chance.one_in(stores_in), static_cast<std::uint64_t>(at),
                       static_cast<unsigned>(1 << chance.from(0, 5)),
                       static_cast<std::uint64_t>(core < 0 ? chance.from(0, 1) : core)});
    }
  }
  return trace;
}

inline std::string describe(const recount::model::MachineDescription& machine) {
  std::ostringstream text;
  text << machine.cores << " cores; ";
  for (const auto& l : machine.levels)
    text << l.name << " size " << l.size << " line " << l.line << " ways " << l.ways << " policy "
         << static_cast<int>(l.policy) << " inclusion " << static_cast<int>(l.inclusion) << " write "
         << static_cast<int>(l.write) << " allocate " << l.allocate << " prefetch " << l.prefetch.size()
         << (l.shared ? " shared" : "") << " masks " << l.index.size() << "; ";
  if (machine.tlb)
    for (const auto& l : machine.tlb->levels)
      text << "tlb page " << machine.tlb->page << " entries " << l.entries << " ways " << l.ways << " masks "
           << l.index.size() << "; ";
  return text.str();
}
