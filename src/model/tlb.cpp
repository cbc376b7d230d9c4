#include "model/tlb.hpp"

#include "model/wide_lookup.hpp"

#include <algorithm>

namespace recount::model {

namespace {

unsigned shift_of(std::int64_t bytes) {
  return static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(bytes)));
}

} // namespace

Tlb::Tlb(const TlbDescription& description, std::uint64_t seed, bool mixed)
    : page_shift_(shift_of(description.page)), huge_shift_(shift_of(description.huge_page)), mixed_(mixed) {
  const auto index = [](const TlbLevel& level) {
    return SetIndex(static_cast<std::uint64_t>(level.sets()), level.index);
  };
  const auto add = [&](std::vector<Level>& to, const TlbLevel& level) { to.emplace_back(level, seed++); };
  newest_.fill(no_page);
  for (const TlbLevel& level : description.levels)
    add(levels, level);
  for (const TlbLevel& level : description.walk)
    add(walk, level);
  wide_ = !mixed && std::ranges::all_of(levels, &Level::wide_lru);
  if (!mixed) newest_mask_ = groups_of_sets(description.levels.front(), newest_.size()) - 1;
  if (!mixed) return;
  const bool same = description.huge.empty();
  const std::vector<TlbLevel>& of_huge = same ? description.levels : description.huge;
  for (std::size_t i = 0; i < of_huge.size(); ++i) {
    add(huge, of_huge[i]);
    shared_.emplace_back();
    if (same || of_huge[i].shared) shared_.back() = {index(description.levels[i]), index(of_huge[i])};
  }
}

std::int64_t Tlb::vacant(std::size_t level) const {
  const bool own = level < huge.size() && !shared_[level];
  return levels[level].vacant() + (own ? huge[level].vacant() : 0);
}

void Tlb::save(std::vector<std::uint64_t>& words) const {
  for (const auto part : parts)
    for (const Level& level : this->*part)
      level.save(words);
}

void Tlb::swap_contents(Tlb& other) {
  for (const auto part : parts)
    for (std::size_t at = 0; at < (this->*part).size(); ++at) {
      Level &one = (this->*part)[at], &another = (other.*part)[at];
      std::swap(one, another);
      std::swap(one.counts, another.counts);
    }
  newest_.swap(other.newest_);
}

void Tlb::clear() {
  for (const auto part : parts)
    for (Level& level : this->*part)
      level.clear();
  newest_.fill(no_page);
}

bool Tlb::translate_huge(std::uint64_t page, Cause cause) {
  const auto c = static_cast<unsigned>(cause);
  const auto key = [&](std::size_t at) { return shared_[at] ? (*shared_[at])(page) : page; };
  const auto entries = [&](std::size_t at) -> Level& { return shared_[at] ? levels[at] : huge[at]; };
  std::size_t at = 0;
  for (; at < levels.size(); ++at) {
    if (at > 0) ++levels[at].counts.accesses[c];
    if (at < huge.size() && entries(at).use(key(at), false)) break;
    ++levels[at].counts.misses[c];
  }
  const bool known = at < levels.size();
  for (at = std::min(at, huge.size()); at-- > 0;)
    if (entries(at).insert(key(at), false) != Level::empty) ++levels[at].counts.evictions;
  return known;
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
  const std::size_t c = number(cause);
  Level* level = &levels.front();
  const auto take = [page](Level& of) RECOUNT_BY_EIGHT {
    return wide::take(of.wide().set_of(page), of.wide().shape(), page);
  };
  const wide::Taken first = take(*level);
  if (first.found) return true;
  bool evicts = first.evicted != Level::empty;
  for (std::size_t at = 1;; ++at) {
    ++level->counts.misses[c];
    level->counts.evictions += evicts ? 1 : 0;
    if (at == levels.size()) return false;
    level = &levels[at];
    ++level->counts.accesses[c];
    const wide::Taken taken = take(*level);
    if (taken.found) return true;
    evicts = taken.evicted != Level::empty;
  }
}

} // namespace recount::model
