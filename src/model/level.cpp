#include "model/level.hpp"

#include "base/random.hpp"
#include "model/wide_lookup.hpp"

#include <algorithm>
#include <array>

namespace recount::model {

namespace {

constexpr bool ordered(Policy policy) {
  return policy == Policy::lru || policy == Policy::fifo;
}
constexpr std::size_t many_ways = 32; ///< with more, a look-up in a table is faster than a scan

Level::Kind kind_of(Policy policy, std::size_t ways, bool vectors) {
  if (!ordered(policy)) return Level::Kind::other;
  if (ways > PackedSets::most_ways) return ways > many_ways ? Level::Kind::linked : Level::Kind::other;
  return vectors ? Level::Kind::wide : Level::Kind::packed;
}

} // namespace

Level::Level(const SetIndex& index, std::uint64_t ways, std::uint64_t line_bytes, Policy policy,
             std::uint64_t seed, const Qlru& qlru)
    : vectors_(WideSets::supported() && WideSets::allowed),
      kind_(kind_of(policy, ways, vectors_)),
      quick_(policy == Policy::lru && (ways == 8 || kind_ == Kind::wide) && index.low_bits()),
      policy_(policy),
      shift_(static_cast<unsigned>(std::countr_zero(line_bytes))),
      wide_(kind_ == Kind::wide ? index : SetIndex(1), kind_ == Kind::wide ? ways : 1),
      packed_(kind_ == Kind::packed ? index : SetIndex(1), kind_ == Kind::packed ? ways : 1),
      linked_(kind_ == Kind::linked ? index : SetIndex(1), kind_ == Kind::linked ? ways : 1),
      entries_(kind_ == Kind::other ? index.sets() * ways : 0, empty),
      ways_(ways),
      index_(index),
      replacement_(policy, qlru, ways),
      words_(has_word(policy) ? index.sets() : 0, 0),
      seed_(seed),
      random_(seed) {}

std::size_t Level::find(const Entry* set, std::uint64_t line) const {
  if (vectors_) return wide::find(set, ways_, line);
  std::size_t way = 0;
  while (way < ways_ && set[way] >> 1 != line)
    ++way;
  return way;
}

bool Level::holds(std::uint64_t line) const {
  if (kind_ == Kind::wide) return wide_.holds(line);
  if (kind_ == Kind::linked) return linked_.holds(line);
  return kind_ == Kind::packed ? packed_.holds(line) : find(set_of(line), line) < ways_;
}

bool Level::use_other(std::uint64_t line, bool dirty) {
  Entry* const set = set_of(line);
  const std::size_t way = find(set, line);
  if (way == ways_) return false;
  set[way] |= Entry{dirty};
  if (!words_.empty()) replacement_.used(words_[index_(line)], way, true);
  if (policy_ == Policy::lru) std::rotate(set, set + way, set + way + 1);
  return true;
}

std::size_t Level::victim(std::uint64_t set) {
  const Entry* const begin = entries_.data() + set * ways_;
  std::size_t free = ways_;
  for (std::size_t way = 0; way < ways_ && (free == ways_ || replacement_.takes_last_free()); ++way)
    if (begin[way] == empty) free = way;
  if (free < ways_) return free;
  if (policy_ == Policy::random) return static_cast<std::size_t>(base::random_below(random_, ways_));
  return replacement_.victim(words_[set]);
}

Level::Entry Level::insert_other(std::uint64_t line, bool dirty) {
  Entry* const set = set_of(line);
  const Entry entry = line << 1 | Entry{dirty};
  if (ordered(policy_)) {
    const Entry last = set[ways_ - 1];
    std::copy_backward(set, set + ways_ - 1, set + ways_);
    set[0] = entry;
    return last;
  }
  std::uint64_t* const word = words_.empty() ? nullptr : &words_[index_(line)];
  if (word) replacement_.missed(*word);
  const std::size_t way = victim(index_(line));
  const Entry leaves = set[way];
  set[way] = entry;
  if (word) replacement_.used(*word, way, false);
  return leaves;
}

Level::Entry Level::remove(std::uint64_t line) {
  if (kind_ == Kind::wide) return wide_.remove(line);
  if (kind_ == Kind::packed) return packed_.remove(line);
  if (kind_ == Kind::linked) return linked_.remove(line);
  Entry* const set = set_of(line);
  const std::size_t way = find(set, line);
  if (way == ways_) return empty;
  const Entry entry = set[way];
  set[way] = empty;
  if (ordered(policy_)) std::rotate(set + way, set + way + 1, set + ways_);
  return entry;
}

bool Level::clean(std::uint64_t line) {
  if (!holds(line)) return false;
  std::vector<Entry> set(ways_);
  read(index_(line), set);
  Entry& entry = set[find(set.data(), line)];
  const bool dirty = (entry & 1) != 0;
  entry &= ~Entry{1};
  if (dirty) write(index_(line), set);
  if (sectors.any()) sectors.clean(line);
  return dirty;
}

void Level::read(std::uint64_t set, std::span<Entry> out) const {
  if (kind_ == Kind::wide) return wide_.read(set, out);
  if (kind_ == Kind::packed) return packed_.read(set, out);
  if (kind_ == Kind::linked) return linked_.read(set, out);
  std::ranges::copy(std::span(entries_).subspan(set * ways_, ways_), out.begin());
}

void Level::write(std::uint64_t set, std::span<const Entry> in) {
  if (kind_ == Kind::wide) return wide_.write(set, in);
  if (kind_ == Kind::packed) return packed_.write(set, in);
  if (kind_ == Kind::linked) return linked_.write(set, in);
  std::ranges::copy(in, entries_.begin() + static_cast<std::ptrdiff_t>(set * ways_));
}

void Level::save(std::vector<std::uint64_t>& words) const {
  const std::size_t from = words.size();
  words.resize(from + index_.sets() * ways_);
  const std::span<Entry> entries = std::span(words).subspan(from);
  if (kind_ == Kind::wide && wide_.dense())
    wide_.read(0, entries);
  else
    for (std::uint64_t set = 0; set < index_.sets(); ++set)
      read(set, entries.subspan(set * ways_, ways_));
  words.insert(words.end(), words_.begin(), words_.end());
  words.push_back(random_);
  sectors.save(words);
}

bool Level::same_entries(std::span<const Entry> theirs) const {
  if (kind_ == Kind::other) return std::ranges::equal(theirs, entries_);
  if (kind_ == Kind::wide && wide_.dense()) return wide_.same(0, theirs);
  std::array<Entry, PackedSets::most_ways> here;
  bool same = true;
  for (std::uint64_t set = 0; set < index_.sets() && same; ++set) {
    const auto those = theirs.subspan(set * ways_, ways_);
    if (kind_ == Kind::wide || kind_ == Kind::linked) {
      same = kind_ == Kind::wide ? wide_.same(set, those) : linked_.same(set, those);
      continue;
    }
    packed_.read(set, std::span(here).first(ways_));
    same = std::ranges::equal(those, std::span(here).first(ways_));
  }
  return same;
}

bool Level::same(std::span<const std::uint64_t>& words) const {
  const auto take = [&](std::size_t n) {
    const auto front = words.first(n);
    words = words.subspan(n);
    return front;
  };
  const bool same = same_entries(take(index_.sets() * ways_));
  if (!std::ranges::equal(take(words_.size()), words_) || take(1)[0] != random_ || !same) return false;
  std::vector<std::uint64_t> lines;
  sectors.save(lines);
  return words.size() >= lines.size() && std::ranges::equal(take(lines.size()), lines);
}

void Level::restore(std::span<const std::uint64_t>& words) {
  const auto take = [&](std::size_t n) {
    const auto front = words.first(n);
    words = words.subspan(n);
    return front;
  };
  for (std::uint64_t set = 0; set < index_.sets(); ++set)
    write(set, take(ways_));
  std::ranges::copy(take(words_.size()), words_.begin());
  random_ = take(1)[0];
  sectors.restore(words);
}

std::int64_t Level::vacant() const {
  std::vector<Entry> entries(ways_);
  std::int64_t count = 0;
  for (std::uint64_t set = 0; set < index_.sets(); ++set) {
    read(set, entries);
    count += std::ranges::count(entries, empty);
  }
  return count;
}

void Level::clear() {
  wide_.clear();
  packed_.clear();
  linked_.clear();
  std::ranges::fill(entries_, empty);
  std::ranges::fill(words_, 0);
  random_ = seed_;
  sectors.clear();
}

} // namespace recount::model
