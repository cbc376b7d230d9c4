// A small generator whose numbers are the same everywhere.
#pragma once

#include <cstdint>

namespace recount::base {

/// splitmix64 (Steele, Lea and Flood, OOPSLA 2014): advances `state`, returns 64 bits.
inline std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// A number below `n`: the high half of 64 random bits times n.
inline std::uint64_t random_below(std::uint64_t& state, std::uint64_t n) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide{next_random(state)} * n) >> 64);
}

} // namespace recount::base
