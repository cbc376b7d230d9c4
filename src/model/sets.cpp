#include "model/sets.hpp"

#include "base/random.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace recount::model {

Sets::Sets(const SetIndex& index, std::size_t ways, Policy policy, const Qlru& qlru, std::uint64_t seed)
    : ways_(ways),
      index_(index),
      policy_(policy),
      replacement_(policy, qlru, ways),
      shift_(static_cast<unsigned>(64 - std::bit_width(2 * ways - 1))),
      slots_(ways > many_ways ? std::bit_ceil(2 * ways) : 0),
      entries_(index.sets() * ways),
      links_(ordered(policy) ? entries_.size() : 0),
      newest_(ordered(policy) ? index.sets() : 0),
      table_(index.sets() * slots_),
      words_(has_word(policy) ? index.sets() : 0),
      seed_(seed) {
  clear();
}

/// The place of a line; the number of ways if it is absent.
std::size_t Sets::find(std::uint64_t set, std::uint64_t line) const {
  if (slots_ != 0) {
    const Number found = table_[slot(set, line)];
    return found == 0 ? ways_ : found - 1;
  }
  const Entry* const entries = entries_.data() + set * ways_;
  std::size_t place = 0;
  while (place < ways_ && entries[place] >> 1 != line)
    ++place;
  return place;
}

/// Where the table has a line, or the free slot for it.
std::size_t Sets::slot(std::uint64_t set, std::uint64_t line) const {
  const Number* const table = table_.data() + set * slots_;
  const Entry* const entries = entries_.data() + set * ways_;
  std::size_t at = home(line);
  while (table[at] != 0 && entries[table[at] - 1] >> 1 != line)
    at = (at + 1) & (slots_ - 1);
  return set * slots_ + at;
}

/// Removes a line from the table; lines after it move up to their homes.
void Sets::erase(std::uint64_t set, std::uint64_t line) {
  if (slots_ == 0) return;
  Number* const table = table_.data() + set * slots_;
  const std::size_t mask = slots_ - 1;
  std::size_t free = slot(set, line) - set * slots_;
  for (std::size_t at = free;;) {
    at = (at + 1) & mask;
    if (table[at] == 0) break;
    const std::size_t distance = (at - home(entries_[set * ways_ + table[at] - 1] >> 1)) & mask;
    if (distance < ((at - free) & mask)) continue; // its home is after the free slot
    table[free] = table[at];
    free = at;
  }
  table[free] = 0;
}

/// Moves a place in the ring of its set.
void Sets::move_before(std::uint64_t set, Number place, Number other) {
  Link* const links = links_.data() + set * ways_;
  Link& here = links[place];
  links[here.before].after = here.after;
  links[here.after].before = here.before;
  here = {links[other].before, other};
  links[here.before].after = place;
  links[other].before = place;
}

bool Sets::use(std::uint64_t line, bool dirty) {
  const std::uint64_t set = index_(line);
  const std::size_t place = find(set, line);
  if (place == ways_) return false;
  entries_[set * ways_ + place] |= Entry{dirty};
  if (policy_ == Policy::lru) {
    const auto used = static_cast<Number>(place);
    if (used != newest_[set]) move_before(set, used, std::exchange(newest_[set], used));
  } else if (!words_.empty()) {
    replacement_.used(words_[set], place, true);
  }
  return true;
}

std::size_t Sets::victim(std::uint64_t set) {
  const Entry* const entries = entries_.data() + set * ways_;
  std::size_t free = ways_;
  for (std::size_t place = 0; place < ways_ && (free == ways_ || replacement_.takes_last_free()); ++place)
    if (entries[place] == empty) free = place;
  if (free < ways_) return free;
  if (policy_ == Policy::random) return static_cast<std::size_t>(base::random_below(random_, ways_));
  return replacement_.victim(words_[set]);
}

Sets::Entry Sets::insert(std::uint64_t line, bool dirty) {
  const std::uint64_t set = index_(line);
  if (!words_.empty()) replacement_.missed(words_[set]);
  const std::size_t place =
      ordered(policy_) ? links_[set * ways_ + newest_[set]].before : victim(set); // the last of the ring
  Entry& entry = entries_[set * ways_ + place];
  if (entry != empty) erase(set, entry >> 1);
  if (slots_ != 0) table_[slot(set, line)] = static_cast<Number>(place + 1);
  if (ordered(policy_))
    newest_[set] = static_cast<Number>(place); // the ring turns
  else if (!words_.empty())
    replacement_.used(words_[set], place, false);
  return std::exchange(entry, line << 1 | Entry{dirty});
}

Sets::Entry Sets::remove(std::uint64_t line) {
  const std::uint64_t set = index_(line);
  const std::size_t place = find(set, line);
  if (place == ways_) return empty;
  erase(set, line);
  if (ordered(policy_)) { // to the end of the order
    const auto removed = static_cast<Number>(place);
    Number& newest = newest_[set];
    if (removed == newest)
      newest = links_[set * ways_ + place].after;
    else
      move_before(set, removed, newest);
  }
  return std::exchange(entries_[set * ways_ + place], empty);
}

bool Sets::clean(std::uint64_t line) {
  const std::uint64_t set = index_(line);
  const std::size_t place = find(set, line);
  if (place == ways_) return false;
  Entry& entry = entries_[set * ways_ + place];
  return (std::exchange(entry, entry & ~Entry{1}) & 1) != 0;
}

void Sets::read(std::uint64_t set, std::span<Entry> out) const {
  const auto entries = std::span(entries_).subspan(set * ways_, ways_);
  if (!ordered(policy_)) {
    std::ranges::copy(entries, out.begin());
    return;
  }
  Number place = newest_[set];
  for (Entry& entry : out) {
    entry = entries[place];
    place = links_[set * ways_ + place].after;
  }
}

void Sets::save_policy(std::vector<std::uint64_t>& words) const {
  words.insert(words.end(), words_.begin(), words_.end());
  if (policy_ == Policy::random) words.push_back(random_);
}

void Sets::clear() {
  std::ranges::fill(entries_, empty);
  std::ranges::fill(table_, 0);
  std::ranges::fill(newest_, 0);
  const auto ways = static_cast<Number>(ways_);
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const auto place = static_cast<Number>(i % ways_);
    links_[i] = {(place + ways - 1) % ways, (place + 1) % ways};
  }
  std::ranges::fill(words_, 0);
  random_ = seed_;
}

} // namespace recount::model
