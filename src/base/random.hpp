// A small generator whose numbers are the same everywhere.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <utility>

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

// A random order that is the same with every standard library.

/// Fisher and Yates. The standard leaves the order of the one in <algorithm> to the library; this one depends
/// on the generator alone.
template <class T>
void shuffle(std::span<T> all, std::mt19937_64& random) {
  for (std::size_t i = all.size(); i > 1; --i)
    std::swap(all[i - 1], all[random() % i]);
}

// A hash that is the same everywhere.

/// FNV-1a with 64 bits (Fowler, Noll, Vo; IETF draft-eastlake-fnv): tells texts apart, no protection. `from`
/// continues the hash of another text.
[[nodiscard]] constexpr std::uint64_t fnv(std::string_view text, std::uint64_t from = 0xcbf29ce484222325) {
  for (const char c : text)
    from = (from ^ std::uint64_t{static_cast<unsigned char>(c)}) * 0x100000001b3;
  return from;
}

} // namespace recount::base
