// A hash that is the same everywhere.
#pragma once

#include <cstdint>
#include <string_view>

namespace recount::base {

/// FNV-1a with 64 bits (Fowler, Noll, Vo; IETF draft-eastlake-fnv): tells texts apart, no protection. `from`
/// continues the hash of another text.
[[nodiscard]] constexpr std::uint64_t fnv(std::string_view text, std::uint64_t from = 0xcbf29ce484222325) {
  for (const char c : text)
    from = (from ^ std::uint64_t{static_cast<unsigned char>(c)}) * 0x100000001b3;
  return from;
}

} // namespace recount::base
