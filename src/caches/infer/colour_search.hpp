// The search for page colours: pages whose lines fall into the same sets of a level.
#pragma once

#include "caches/infer/sampler.hpp"

#include <cstdint>

namespace recount::caches {

/// What the search needs to know of the level and of those above it; times in ns per visit.
struct ColourTask {
  double hit = 0, penalty = 0;         ///< of a hit in the level; of a miss, beyond that
  std::int64_t line = 64, page = 4096; ///< bytes
  std::int64_t pages = 0;              ///< to try: several times the capacity of the level
  std::int64_t capacity = 0;           ///< pages that the level holds, about
  std::int64_t sample = 0;             ///< of `pages`: kept out of the search, to count the colours with
  std::int64_t ways_above = 0;         ///< of the level above
  std::int64_t page_sets_above = 1;    ///< sets of the level above that lines at one page offset fall into
  std::uint64_t seed = 1;
  std::int64_t lines = 0, distance = 0; ///< visited in each page, and the bytes from one to the next
};

/// Pages of one colour share all of their sets, others none, if address bits or exclusive ors of them choose
/// the set. Pages are added until a set overflows and removed again while it still does, which leaves
/// ways + 1 pages of one colour; the other pages are tried in their place. This is the reduction of eviction
/// sets of Vila, Koepf and Morales, "Theory and Practice of Finding Eviction Sets", IEEE Symposium on
/// Security and Privacy 2019. It ends when no pages overflow any more, or when the known colours' share of
/// the sample tells how many colours there are. The visited lines of a page are the fewest that overflow the
/// level at the same number of pages as all of its lines do. Readings of the colours are taken for
/// decide_colour_sets(). PageColours::unknown is set when the sampler has no quick_time(), no set overflows,
/// noise hides which pages it takes, or the time is over.
[[nodiscard]] PageColours find_colours(Sampler& sampler, const ColourTask& task);

} // namespace recount::caches
