#include "model/linked_sets.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace recount::model {

LinkedSets::LinkedSets(const SetIndex& index, std::size_t ways)
    : ways_(ways),
      index_(index),
      shift_(static_cast<unsigned>(64 - std::bit_width(2 * ways - 1))),
      slots_(std::bit_ceil(2 * ways)),
      places_(index.sets() * ways),
      first_(index.sets()),
      table_(index.sets() * slots_) {
  clear();
}

/// Where the table has a line, or the free slot where it would put it.
std::size_t LinkedSets::slot(std::uint64_t set, std::uint64_t line) const {
  const Number* const table = table_.data() + set * slots_;
  std::size_t at = home(line);
  while (table[at] != 0 && places_[table[at] - 1].entry >> 1 != line)
    at = (at + 1) & (slots_ - 1);
  return set * slots_ + at;
}

/// Takes an entry out of the table; those after it move up to their homes.
void LinkedSets::forget(std::uint64_t set, std::size_t slot) {
  Number* const table = table_.data() + set * slots_;
  const std::size_t mask = slots_ - 1;
  std::size_t free = slot - set * slots_;
  for (std::size_t at = free;;) {
    at = (at + 1) & mask;
    if (table[at] == 0) break;
    const std::size_t way = (at - home(places_[table[at] - 1].entry >> 1)) & mask;
    if (way < ((at - free) & mask)) continue; // its home lies after the free slot
    table[free] = table[at];
    free = at;
  }
  table[free] = 0;
}

/// Moves a place in the ring.
void LinkedSets::link(Number place, Number before) {
  Place& here = places_[place];
  places_[here.before].after = here.after;
  places_[here.after].before = here.before;
  here.after = before;
  here.before = places_[before].before;
  places_[here.before].after = place;
  places_[before].before = place;
}

bool LinkedSets::use(std::uint64_t line, bool dirty, bool first) {
  const std::uint64_t set = index_(line);
  const Number found = table_[slot(set, line)];
  if (found == 0) return false;
  const Number place = found - 1;
  places_[place].entry |= Entry{dirty};
  Number& newest = first_[set];
  if (!first || place == newest) return true;
  link(place, newest);
  newest = place;
  return true;
}

LinkedSets::Entry LinkedSets::insert(std::uint64_t line, bool dirty) {
  const std::uint64_t set = index_(line);
  const Number last = places_[first_[set]].before;
  const Entry leaves = places_[last].entry;
  if (leaves != empty) forget(set, slot(set, leaves >> 1));
  table_[slot(set, line)] = last + 1;
  places_[last].entry = line << 1 | Entry{dirty};
  first_[set] = last; // the ring turns
  return leaves;
}

LinkedSets::Entry LinkedSets::remove(std::uint64_t line) {
  const std::uint64_t set = index_(line);
  const std::size_t at = slot(set, line);
  if (table_[at] == 0) return empty;
  const Number place = table_[at] - 1;
  forget(set, at);
  Number& newest = first_[set];
  if (place == newest)
    newest = places_[place].after;
  else
    link(place, newest);
  return std::exchange(places_[place].entry, empty);
}

void LinkedSets::read(std::uint64_t set, std::span<Entry> out) const {
  Number place = first_[set];
  for (Entry& entry : out) {
    entry = places_[place].entry;
    place = places_[place].after;
  }
}

bool LinkedSets::same(std::uint64_t set, std::span<const Entry> entries) const {
  Number place = first_[set];
  return std::ranges::all_of(entries, [&](Entry entry) {
    const Place& here = places_[place];
    place = here.after;
    return here.entry == entry;
  });
}

void LinkedSets::write(std::uint64_t set, std::span<const Entry> in) {
  const auto first = static_cast<Number>(set * ways_), ways = static_cast<Number>(ways_);
  std::fill_n(table_.begin() + static_cast<std::ptrdiff_t>(set * slots_), slots_, 0);
  first_[set] = first;
  for (Number i = 0; i < ways; ++i) {
    places_[first + i] = {empty, first + (i + ways - 1) % ways, first + (i + 1) % ways};
    if (in[i] == empty) continue;
    table_[slot(set, in[i] >> 1)] = first + i + 1;
    places_[first + i].entry = in[i];
  }
}

void LinkedSets::clear() {
  const std::vector<Entry> none(ways_, empty);
  for (std::uint64_t set = 0; set < index_.sets(); ++set)
    write(set, none);
}

} // namespace recount::model
