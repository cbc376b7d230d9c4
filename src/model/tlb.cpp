#include "model/tlb.hpp"

#include "model/wide_lookup.hpp"

#include <algorithm>

namespace recount::model {

Tlb::Tlb(const TlbDescription& description, std::uint64_t seed)
    : page_shift_(static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(description.page)))) {
  const auto add = [&](std::vector<Level>& to, const TlbLevel& level) {
    to.emplace_back(SetIndex(static_cast<std::uint64_t>(level.sets()), level.index),
                    static_cast<std::uint64_t>(level.ways), std::uint64_t{1}, level.policy, seed++,
                    level.qlru);
  };
  for (const TlbLevel& level : description.levels)
    add(levels, level);
  for (const TlbLevel& level : description.walk)
    add(walk, level);
  wide_ = std::ranges::all_of(levels, &Level::wide_lru);
}

bool Tlb::beyond_first(std::uint64_t page, Cause cause) {
  const auto c = static_cast<unsigned>(cause);
  ++levels.front().counts.misses[c];
  std::size_t at = 1;
  for (; at < levels.size(); ++at) {
    ++levels[at].counts.accesses[c];
    if (levels[at].use(page, false)) break;
    ++levels[at].counts.misses[c];
  }
  const bool known = at < levels.size();
  while (at-- > 0)
    if (levels[at].insert(page, false) != Level::empty) ++levels[at].counts.evictions;
  return known;
}

RECOUNT_BY_EIGHT bool Tlb::translate_wide(std::uint64_t page, Cause cause) {
  const auto c = static_cast<unsigned>(cause);
  const wide::Taken first = wide::take(levels.front().wide(), page);
  if (first.found) return true;
  Level* level = &levels.front();
  bool evicts = first.leaves != Level::empty;
  for (std::size_t at = 1;; ++at) {
    ++level->counts.misses[c];
    level->counts.evictions += evicts ? 1 : 0;
    if (at == levels.size()) return false;
    level = &levels[at];
    ++level->counts.accesses[c];
    const wide::Taken taken = wide::take(level->wide(), page);
    if (taken.found) return true;
    evicts = taken.leaves != Level::empty;
  }
}

} // namespace recount::model
