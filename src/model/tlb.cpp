#include "model/tlb.hpp"

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
}

void Tlb::save(std::vector<std::uint64_t>& words) const {
  for (const auto* const all : {&levels, &walk})
    for (const Level& level : *all)
      level.save(words);
}

bool Tlb::same(std::span<const std::uint64_t>& words) const {
  for (const auto* const all : {&levels, &walk})
    for (const Level& level : *all)
      if (!level.same(words)) return false;
  return true;
}

void Tlb::restore(std::span<const std::uint64_t>& words) {
  for (auto* const all : {&levels, &walk})
    for (Level& level : *all)
      level.restore(words);
}

void Tlb::clear() {
  for (auto* const all : {&levels, &walk})
    for (Level& level : *all)
      level.clear();
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

} // namespace recount::model
