#include "model/level.hpp"

#include "model/wide_lookup.hpp"
#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <numeric>

namespace recount::model {

namespace {

unsigned log2_of(std::int64_t bytes) {
  return static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(bytes)));
}
/// The index function of a LevelDescription or a TlbLevel.
SetIndex set_index(const auto& level) {
  return SetIndex(static_cast<std::uint64_t>(level.sets()), level.index);
}

} // namespace

Level::Level(const SetIndex& index, std::size_t ways, Policy policy, const Qlru& qlru, std::uint64_t seed,
             unsigned shift)
    : wide_(WideSets::supported() && WideSets::allowed && policy == Policy::lru &&
            ways <= WideSets::max_ways),
      shift_(shift),
      number_(index.sets()),
      ways_(ways),
      wide_sets_(wide_ ? index : SetIndex(1), wide_ ? ways : 1),
      sets_(wide_ ? SetIndex(1) : index, wide_ ? 1 : ways, wide_ ? Policy::lru : policy, qlru, seed) {}

Level::Level(const LevelDescription& level, std::uint64_t seed)
    : Level(set_index(level), static_cast<std::size_t>(level.ways), level.policy, level.qlru, seed,
            log2_of(level.line)) {}

Level::Level(const TlbLevel& level, std::uint64_t seed)
    : Level(set_index(level), static_cast<std::size_t>(level.ways), level.policy, level.qlru, seed, 0) {}

bool Level::clean(std::uint64_t line) {
  return wide_ ? wide_sets_.clean(line) : sets_.clean(line);
}

void Level::save(std::vector<std::uint64_t>& words) const {
  const std::size_t from = words.size();
  words.resize(from + number_ * ways_);
  for (std::uint64_t set = 0; set < number_; ++set)
    read(set, std::span(words).subspan(from + set * ways_, ways_));
  sets_.save_policy(words);
}

std::int64_t Level::vacant() const {
  std::vector<Entry> entries(ways_);
  std::int64_t count = 0;
  for (std::uint64_t set = 0; set < number_; ++set) {
    read(set, entries);
    count += std::ranges::count(entries, empty);
  }
  return count;
}

void Level::clear() {
  wide_sets_.clear();
  sets_.clear();
}

namespace {

constexpr std::uint64_t no_line = ~std::uint64_t{0};

} // namespace

Distances::Distances(const MachineDescription& machine) : line_(machine.levels.front().line) {
  std::map<std::uint64_t, std::size_t> most; // ways by sets
  for (const FamilyMember& member : machine.family) {
    std::size_t& ways = most[static_cast<std::uint64_t>(member.sets(line_))];
    ways = std::max(ways, static_cast<std::size_t>(member.ways));
  }
  std::size_t lines = 0, counts = 0;
  for (const auto& [sets, ways] : most) {
    groups_.push_back({sets, std::has_single_bit(sets) ? sets - 1 : 0, ways, lines, counts, true});
    lines += sets * ways;
    counts += 2 * (ways + 1);
  }
  for (std::size_t i = 0; i < groups_.size(); ++i)
    for (std::size_t later = i + 1; later < groups_.size(); ++later)
      if (groups_[later].sets % groups_[i].sets != 0) groups_[i].spreads = false;
  lines_.assign(lines, no_line);
  counts_.assign(counts, 0);
}

void Distances::deeper(const Group& group, std::uint64_t* lines, std::uint64_t line, bool store) {
  std::uint64_t before = lines[0];
  std::size_t depth = 1;
  for (; depth < group.ways; ++depth) {
    std::swap(before, lines[depth]);
    if (before == line) break;
  }
  lines[0] = line;
  ++counts_[group.counts + 2 * depth + (store ? 1 : 0)];
}

std::int64_t Distances::misses(std::span<const std::int64_t> counts, const FamilyMember& member,
                               bool store) const {
  const auto sets = static_cast<std::uint64_t>(member.sets(line_));
  const auto group = std::ranges::find(groups_, sets, &Group::sets);
  std::int64_t sum = 0;
  for (auto depth = static_cast<std::size_t>(member.ways); depth <= group->ways; ++depth)
    sum += counts[group->counts + 2 * depth + (store ? 1 : 0)];
  return sum;
}

void Distances::add(std::span<const std::int64_t> later, std::span<const std::int64_t> earlier,
                    std::int64_t times) {
  for (std::size_t i = 0; i < counts_.size(); ++i)
    counts_[i] += times * (later[i] - earlier[i]);
}

void Distances::reset_counters() {
  std::ranges::fill(counts_, 0);
}

void Distances::save(std::vector<std::uint64_t>& words) const {
  words.insert(words.end(), lines_.begin(), lines_.end());
}

void Distances::clear() {
  std::ranges::fill(lines_, no_line);
}

Tlb::Tlb(const TlbDescription& description, std::uint64_t seed, bool mixed)
    : page_shift_(log2_of(description.page)), huge_shift_(log2_of(description.huge_page)), mixed_(mixed) {
  const auto add = [&](std::vector<Level>& to, const TlbLevel& level) { to.emplace_back(level, seed++); };
  newest_.fill(no_page);
  for (const TlbLevel& level : description.levels)
    add(levels, level);
  for (const TlbLevel& level : description.walk)
    add(walk, level);
  wide_ = !mixed && std::ranges::all_of(levels, &Level::is_wide);
  if (!mixed) newest_mask_ = groups_of_sets(description.levels.front(), newest_.size()) - 1;
  if (!mixed) return;
  const bool same = description.huge.empty();
  const std::vector<TlbLevel>& of_huge = same ? description.levels : description.huge;
  for (std::size_t i = 0; i < of_huge.size(); ++i) {
    add(huge, of_huge[i]);
    shared_.emplace_back();
    if (same || of_huge[i].shared) shared_.back() = {set_index(description.levels[i]), set_index(of_huge[i])};
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
    for (std::size_t at = 0; at < (this->*part).size(); ++at)
      model::swap_contents((this->*part)[at], (other.*part)[at]);
  newest_.swap(other.newest_);
}

void Tlb::clear() {
  for (const auto part : parts)
    std::ranges::for_each(this->*part, &Level::clear);
  newest_.fill(no_page);
}

// Counts are those of `levels`; entries(at) is the level with the entry key(at), of the first `held` levels.
template <class Entries, class Key>
bool Tlb::translate_from(std::size_t at, std::size_t held, Cause cause, Entries entries, Key key) {
  const std::size_t c = number(cause);
  for (; at < levels.size(); ++at) {
    if (at > 0) ++levels[at].counts.accesses[c];
    if (at < held && entries(at).use(key(at), false)) break;
    ++levels[at].counts.misses[c];
  }
  const bool known = at < levels.size();
  for (at = std::min(at, held); at-- > 0;)
    if (entries(at).insert(key(at), false) != Level::empty) ++levels[at].counts.evictions;
  return known;
}

bool Tlb::translate_huge(std::uint64_t page, Cause cause) {
  return translate_from(
      0, huge.size(), cause, [&](std::size_t at) -> Level& { return shared_[at] ? levels[at] : huge[at]; },
      [&](std::size_t at) { return shared_[at] ? (*shared_[at])(page) : page; });
}

bool Tlb::beyond_first(std::uint64_t page, Cause cause) {
  ++levels.front().counts.misses[number(cause)];
  return translate_from(
      1, levels.size(), cause, [&](std::size_t at) -> Level& { return levels[at]; },
      [&](std::size_t) { return page; });
}

RECOUNT_AVX512 bool Tlb::translate_wide(std::uint64_t page, Cause cause) {
  const std::size_t c = number(cause);
  Level* level = &levels.front();
  const auto use_or_insert = [page](Level& cached) RECOUNT_AVX512 {
    return wide::use_or_insert(cached.wide().set_of(page), cached.wide().shape(), page);
  };
  const wide::UseResult first = use_or_insert(*level);
  if (first.found) return true;
  bool evicts = first.evicted != Level::empty;
  for (std::size_t at = 1;; ++at) {
    ++level->counts.misses[c];
    level->counts.evictions += evicts ? 1 : 0;
    if (at == levels.size()) return false;
    level = &levels[at];
    ++level->counts.accesses[c];
    const wide::UseResult result = use_or_insert(*level);
    if (result.found) return true;
    evicts = result.evicted != Level::empty;
  }
}

Prefetchers::Prefetchers(const std::vector<Prefetcher>& described, unsigned line_shift)
    : described_(described), shift_(line_shift) {}

std::size_t Prefetchers::find_or_add_stream(const Prefetcher& prefetcher, std::uint64_t line) {
  auto stream = static_cast<std::size_t>(std::ranges::find(pages_, page(line)) - pages_.begin());
  if (stream == pages_.size()) {
    if (std::ssize(pages_) < prefetcher.streams) {
      pages_.emplace_back();
      last_use_.emplace_back();
      streams_.emplace_back();
    } else {
      stream = static_cast<std::size_t>(std::ranges::min_element(last_use_) - last_use_.begin());
    }
    pages_[stream] = page(line);
    streams_[stream] = {line, line};
  }
  last_use_[stream] = ++use_count_;
  return stream;
}

void Prefetchers::save(std::vector<std::uint64_t>& words) const {
  if (none()) return;
  std::vector<std::size_t> newest_first(streams_.size());
  std::iota(newest_first.begin(), newest_first.end(), 0);
  std::ranges::sort(newest_first, std::greater{}, [&](std::size_t stream) { return last_use_[stream]; });
  words.push_back(streams_.size());
  for (const std::size_t stream : newest_first) {
    const Stream& s = streams_[stream];
    words.insert(words.end(), {pages_[stream], s.last, s.ahead, static_cast<std::uint64_t>(s.direction),
                               static_cast<std::uint64_t>(s.steps)});
  }
  words.push_back(unused_.size());
  unused_.sorted([&](std::uint64_t line, unsigned kind) { words.insert(words.end(), {line, kind}); });
}

void Prefetchers::clear() {
  streams_.clear();
  pages_.clear();
  last_use_.clear();
  latest_ = 0;
  unused_.clear();
}

} // namespace recount::model
