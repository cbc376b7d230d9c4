// Random machines for the inference of caches.
#pragma once

#include "model/machine.hpp"

#include <bit>
#include <cmath>
#include <ostream>
#include <random>
#include <string>

class Dice {
public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::int64_t from(std::int64_t low, std::int64_t high) { // inclusive
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool one_in(std::int64_t n) { return from(1, n) == 1; }
  /// Evenly on a logarithmic scale.
  std::int64_t octaves(std::int64_t low, std::int64_t high) {
    const double from = std::log2(static_cast<double>(low)), to = std::log2(static_cast<double>(high));
    return std::llround(std::exp2(std::uniform_real_distribution<double>(from, to)(engine_)));
  }

private:
  std::mt19937_64 engine_;
};

/// One to three levels, lines of 16 to 256 bytes, 1 to 24 ways, sets of any number; outwards capacities grow
/// and lines do not shrink. `lru`: every level; else tree-PLRU and FIFO as well.
inline recount::model::MachineDescription random_machine(Dice& dice, bool lru) {

  recount::model::MachineDescription machine;
  machine.name = "random";
  const std::int64_t levels = dice.from(1, 3);
  std::int64_t line = std::int64_t{16} << dice.from(0, 4), above = 255, most = 32768;
  for (std::int64_t i = 0; i < levels; ++i, most *= 8) {
    recount::model::LevelDescription level;
    level.name = "L" + std::to_string(i + 1);
    if (i > 0 && line < 256 && dice.one_in(4)) line *= 2;
    level.line = line;
    level.policy = lru ? recount::model::Policy::lru : static_cast<recount::model::Policy>(dice.from(0, 2));
    do {
      level.ways = level.policy == recount::model::Policy::plru ? std::int64_t{1} << dice.from(0, 4)
                                                                : dice.from(1, 24);
      std::int64_t sets = dice.octaves(1, 2048);
      if (dice.one_in(2)) sets = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(sets)));
      level.size = line * level.ways * sets;
    } while (level.size <= above || level.size > most);
    above = level.size;
    if (i > 0) {
      level.inclusion = static_cast<recount::model::Inclusion>(dice.from(0, dice.one_in(4) ? 2 : 1));
      if (level.inclusion == recount::model::Inclusion::exclusive && machine.levels.back().line != line)
        level.inclusion = recount::model::Inclusion::inclusive;
    }
    machine.levels.push_back(level);
  }
  return machine;
}

namespace recount::model {
inline std::ostream& operator<<(std::ostream& out, const MachineDescription& machine) {
  static const char* const policies[] = {"LRU", "PLRU", "FIFO", "random"};
  static const char* const inclusions[] = {"", " inclusive", " exclusive"};
  for (const auto& level : machine.levels)
    out << level.name << " " << level.size << " B, " << level.ways << " ways, " << level.sets()
        << " sets, line " << level.line << ", " << policies[static_cast<int>(level.policy)]
        << inclusions[static_cast<int>(level.inclusion)] << "; ";
  if (machine.tlb)
    for (const auto& level : machine.tlb->levels)
      out << "TLB of " << level.entries << " in " << level.ways << " ways; ";
  return out;
}
} // namespace recount::model
