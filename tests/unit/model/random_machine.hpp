// Random hierarchies and traces, small enough that everything happens in a few hundred accesses.
#pragma once

#include "model/machine.hpp"

#include <bit>
#include <random>
#include <sstream>
#include <string>
#include <vector>

struct Access {
  bool store = false;
  std::uint64_t address = 0;
  unsigned bytes = 1;
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

inline recount::model::LevelDescription random_level(Chance& chance, std::size_t i, std::int64_t line) {

  recount::model::LevelDescription level;
  level.name = "L" + std::to_string(i + 1);
  level.line = line;
  level.ways = chance.one_in(6) ? chance.from(9, 20) : chance.from(1, 8); // 16: a limit inside the model
  const std::int64_t sets = chance.from(1, 4) * chance.from(1, 3) + static_cast<std::int64_t>(i);
  level.size = level.line * level.ways * sets;
  level.policy = static_cast<recount::model::Policy>(chance.from(0, 3));
  if (level.policy == recount::model::Policy::plru && level.ways != 1 && level.ways != 2 && level.ways != 4 &&
      level.ways != 8)
    level.policy = recount::model::Policy::lru;
  level.write = chance.one_in(4) ? recount::model::Write::through : recount::model::Write::back;
  level.allocate = !chance.one_in(4);
  level.prefetch = chance.one_in(4) ? recount::model::Prefetch::next_line : recount::model::Prefetch::none;
  return level;
}

/// Any valid machine; with `plain`, only LRU, write-back, allocating, non-inclusive levels without TLB.
inline recount::model::MachineDescription random_machine(Chance& chance, bool plain) {

  recount::model::MachineDescription machine;
  machine.name = "random";
  machine.seed = static_cast<std::uint64_t>(chance.from(1, 1000));
  const auto levels = static_cast<std::size_t>(chance.from(1, 4));
  std::int64_t line = std::int64_t{4} << chance.from(0, 4);
  for (std::size_t i = 0; i < levels; ++i) {
    if (i > 0 && chance.one_in(6)) line *= 2;
    recount::model::LevelDescription level = random_level(chance, i, line);
    if (plain) {
      level.policy = recount::model::Policy::lru;
      level.write = recount::model::Write::back;
      level.allocate = true;
      level.prefetch = recount::model::Prefetch::none;
    } else if (i > 0) {
      level.inclusion = static_cast<recount::model::Inclusion>(chance.from(0, 2));
      const recount::model::LevelDescription& above = machine.levels.back();
      if (level.inclusion == recount::model::Inclusion::exclusive &&
          (above.line != line || above.write == recount::model::Write::through))
        level.inclusion = recount::model::Inclusion::inclusive;
      if (level.inclusion == recount::model::Inclusion::exclusive) {
        level.allocate = true;
        level.prefetch = recount::model::Prefetch::none;
      }
    }
    machine.levels.push_back(level);
  }
  if (!plain && chance.one_in(3)) {
    recount::model::TlbDescription tlb{std::int64_t{64} << chance.from(0, 2), {}};
    for (std::int64_t i = chance.from(1, 2); i > 0; --i) {
      const std::int64_t ways = chance.from(1, 4);
      tlb.levels.push_back({ways * chance.from(1, 3), ways});
    }
    machine.tlb = tlb;
  }
  return machine;
}

/// Sweeps, loops and scattered accesses over a region somewhat larger than the caches.
inline std::vector<Access> random_trace(Chance& chance, std::size_t length) {
  std::vector<Access> trace;
  const std::int64_t region = std::int64_t{64} << chance.from(0, 7);
  while (trace.size() < length) {
    const std::int64_t start = chance.from(0, region), stride = chance.from(1, 80), n = chance.from(1, 40);
    const bool scattered = chance.one_in(3);
    const std::int64_t stores_in = chance.from(1, 4);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = scattered ? chance.from(0, region) : (start + i * stride) % region;
      trace.push_back({chance.one_in(stores_in), static_cast<std::uint64_t>(at),
                       static_cast<unsigned>(1 << chance.from(0, 5))});
    }
  }
  return trace;
}

inline std::string describe(const recount::model::MachineDescription& machine) {
  std::ostringstream text;
  for (const auto& l : machine.levels)
    text << l.name << " size " << l.size << " line " << l.line << " ways " << l.ways << " policy "
         << static_cast<int>(l.policy) << " inclusion " << static_cast<int>(l.inclusion) << " write "
         << static_cast<int>(l.write) << " allocate " << l.allocate << " prefetch "
         << static_cast<int>(l.prefetch) << "; ";
  if (machine.tlb)
    for (const auto& l : machine.tlb->levels)
      text << "tlb page " << machine.tlb->page << " entries " << l.entries << " ways " << l.ways << "; ";
  return text.str();
}
