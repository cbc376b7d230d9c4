// How a Stage remembers: the words that tell a situation, and those that tell what came of it.
//
// An entry of the set is told in 32 bits: its slot and distance from the slot's anchor, or that it is foreign
// (which one does not matter; in an outcome: where it was before), and whether it is dirty.
#include "model/accelerated/stage.hpp"

namespace recount::model {

namespace {

constexpr std::uint32_t foreign = 62, vacant = 63;
constexpr std::int64_t reach = std::int64_t{1} << 24; // distances that fit
constexpr unsigned count_bits = 56, distance_shift = 38;

std::uint32_t word_of(std::uint32_t what, Level::Entry entry, std::int64_t distance) {
  return what << 26 | static_cast<std::uint32_t>(entry & 1) << 25 |
         (static_cast<std::uint32_t>(distance) & 0x1ffffff);
}
std::int64_t distance_of(std::uint32_t word) {
  return static_cast<std::int32_t>(word << 7) >> 7;
}
std::int64_t line_of(Level::Entry entry) {
  return static_cast<std::int64_t>(entry >> 1);
}

/// Appends 32-bit words two by two.
class Pairs {
public:
  explicit Pairs(std::vector<std::uint64_t>& words) : words_(words) {}
  void add(std::uint32_t half) {
    if (odd_)
      words_.back() |= std::uint64_t{half} << 32;
    else
      words_.push_back(half);
    odd_ = !odd_;
  }

private:
  std::vector<std::uint64_t>& words_;
  bool odd_ = false;
};

/// Appends a set's entries; was(line) tells a foreign one.
template <class Was>
void tell_entries(std::span<const Level::Entry> entries, const Slots& slots,
                  std::vector<std::uint64_t>& words, Was&& was) {
  Pairs pairs(words);
  for (const Level::Entry entry : entries) {
    if (entry == Level::empty) {
      pairs.add(word_of(vacant, 0, 0));
      continue;
    }
    const unsigned slot = slots.of_line(line_of(entry));
    pairs.add(slot == Slots::none ? word_of(foreign, entry, was(line_of(entry)))
                                  : word_of(slot, entry, line_of(entry) - slots[slot].anchor));
  }
}

} // namespace

/// Writes the situation into key_: equal keys, equal outcomes. False where distances are too great to tell.
bool Stage::tell(Range in, const Slots& slots, std::span<const Level::Entry> entries) {
  key_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (slots[i].high - slots[i].low >= reach) return false;
  for (std::size_t i = 0; i < in.size; ++i) {
    const StrandAt& strand = stack_[in.from + i];
    const unsigned slot = slots.of_strand(i);
    const std::int64_t distance = strand.line - slots[slot].anchor;
    key_.push_back(strand.id | std::uint64_t{slot} << 32 | std::uint64_t{distance != 0} << 40);
    if (distance != 0) key_.push_back(static_cast<std::uint64_t>(distance));
  }
  if (uneven_) {
    const std::int64_t mask = (std::int64_t{1} << shape_.below.down) - 1;
    for (std::size_t i = 0; i < slots.size(); ++i)
      key_.push_back(static_cast<std::uint64_t>(address_below(slots[i].anchor) & mask));
  }
  if (plru_) key_.push_back(tree());
  tell_entries(entries, slots, key_, [](std::int64_t) { return 0u; });
  return true;
}

/// Writes down what became of a situation: how many counts and pieces, the counts that changed (number and by
/// how much), the tree, the entries, the pieces.
const std::uint64_t* Stage::remember(const Slots& slots, std::span<const Level::Entry> old,
                                     const SetCounts& before, std::size_t pieces) {
  const auto was = [&](std::int64_t line) {
    std::uint32_t way = 0;
    while (way < old.size() && (old[way] == Level::empty || line_of(old[way]) != line))
      ++way;
    return way;
  };
  words_.assign(1, static_cast<std::uint64_t>(pieces_.size() - pieces) << 32);
  for (std::size_t i = 0; i < before.size(); ++i)
    if (one_.counts[i] != before[i]) {
      words_.push_back(std::uint64_t{i} << count_bits |
                       static_cast<std::uint64_t>(one_.counts[i] - before[i]));
      ++words_[0];
    }
  if (plru_) words_.push_back(tree());
  tell_entries(SetEntries(one_.level(), shape_.rules.ways).all(), slots, words_, was);
  for (std::size_t i = pieces; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const unsigned slot = slots.of_line(piece.line);
    const std::int64_t distance =
        slot == Slots::none ? std::int64_t{was(piece.line)} : piece.line - slots[slot].anchor;
    words_.push_back(static_cast<std::uint64_t>(distance) << distance_shift |
                     std::uint64_t{slot == Slots::none ? foreign : slot} << 32 | piece.id);
  }
  std::uint64_t* const outcome = outcomes_.take(words_.size());
  std::ranges::copy(words_, outcome);
  return outcome;
}

/// What remember() wrote happens again.
void Stage::recall(const Slots& slots, std::span<const Level::Entry> old, const std::uint64_t* outcome) {
  std::uint64_t changed = outcome[0] & 0xffffffff, pieces = outcome[0] >> 32;
  for (++outcome; changed > 0; --changed, ++outcome)
    one_.counts[*outcome >> count_bits] +=
        static_cast<std::int64_t>(*outcome & ((std::uint64_t{1} << count_bits) - 1));
  if (plru_) one_.level().trees()[0] = *outcome++;
  const auto line = [&](std::uint32_t what, std::int64_t distance) {
    return what == foreign ? line_of(old[static_cast<std::size_t>(distance)]) : slots[what].anchor + distance;
  };
  SetEntries entries(old.size());
  for (std::size_t way = 0; way < old.size(); ++way) {
    const auto word = static_cast<std::uint32_t>(outcome[way / 2] >> (way % 2 * 32));
    const std::uint32_t what = word >> 26;
    entries.all()[way] =
        what == vacant ? Level::empty
                       : static_cast<Level::Entry>(line(what, distance_of(word))) << 1 | (word >> 25 & 1);
  }
  one_.level().write(0, entries.all());
  outcome += (old.size() + 1) / 2;
  for (; pieces > 0; --pieces, ++outcome) {
    const auto what = static_cast<std::uint32_t>(*outcome >> 32 & 63);
    pieces_.push_back({0, static_cast<std::uint32_t>(*outcome),
                       line(what, static_cast<std::int64_t>(*outcome) >> distance_shift)});
  }
}

std::size_t Stage::bytes() const {
  return known_.bytes() + outcomes_.bytes();
}

void Stage::forget() {
  known_.clear();
  outcomes_ = {};
  ++effort_.flushes;
}

} // namespace recount::model
