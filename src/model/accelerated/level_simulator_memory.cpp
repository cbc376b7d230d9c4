// How a LevelSimulator remembers: the state before a segment as a key, and what the segment did as an outcome
// (see packed_words.hpp).
#include "model/accelerated/level_simulator.hpp"
#include "model/accelerated/packed_words.hpp"

namespace recount::model {

namespace {

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

/// Appends the entries of a set; was(line) is the distance of a foreign one.
template <class Was>
void add_entries(std::span<const Level::Entry> entries, const Slots& slots, std::vector<std::uint64_t>& words,
                 Was&& was) {
  Pairs pairs(words);
  for (const Level::Entry entry : entries) {
    if (entry == Level::empty) {
      pairs.add(EntryWord{EntryWord::vacant}.pack());
      continue;
    }
    const unsigned slot = slots.of_line(line_of(entry));
    const bool dirty = (entry & 1) != 0;
    pairs.add(slot == Slots::none ? EntryWord{EntryWord::foreign, dirty, was(line_of(entry))}.pack()
                                  : EntryWord{slot, dirty, line_of(entry) - slots[slot].anchor}.pack());
  }
}

} // namespace

/// Writes the state into key_: equal keys have equal outcomes. False where distances exceed their fields.
bool LevelSimulator::encode_state(Range in, const Slots& slots, std::span<const Level::Entry> entries) {
  key_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (slots[i].high - slots[i].low >= EntryWord::reach) return false;
  for (std::size_t i = 0; i < in.size; ++i) {
    const PlacedTrace& trace = stack_[in.from + i];
    const unsigned slot = slots.of_trace(i);
    const std::int64_t distance = trace.line - slots[slot].anchor;
    key_.push_back(TraceWord{trace.id, slot, distance != 0}.pack());
    if (distance != 0) key_.push_back(static_cast<std::uint64_t>(distance));
  }
  if (has_word_) key_.push_back(tree());
  add_entries(entries, slots, key_, [](std::int64_t) { return std::int64_t{0}; });
  return true;
}

/// Stores the outcome of a state: OutcomeWord, CountWords, the PLRU tree, EntryWords two per word,
/// PieceWords.
const std::uint64_t* LevelSimulator::store_outcome(const Slots& slots, std::span<const Level::Entry> old,
                                                   const SetCounts& before, std::size_t pieces) {
  const auto was = [&](std::int64_t line) {
    std::size_t way = 0;
    while (way < old.size() && (old[way] == Level::empty || line_of(old[way]) != line))
      ++way;
    return static_cast<std::int64_t>(way);
  };
  OutcomeWord head{0, static_cast<std::uint32_t>(pieces_.size() - pieces)};
  words_.assign(1, 0);
  for (std::size_t i = 0; i < before.size(); ++i)
    if (one_.counts[i] != before[i]) {
      words_.push_back(CountWord{i, one_.counts[i] - before[i]}.pack());
      ++head.counts;
    }
  words_[0] = head.pack();
  if (has_word_) words_.push_back(tree());
  add_entries(SetEntries(one_.level(), shape_.rules.ways).all(), slots, words_, was);
  for (std::size_t i = pieces; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const unsigned slot = slots.of_line(piece.line);
    const std::int64_t distance = slot == Slots::none ? was(piece.line) : piece.line - slots[slot].anchor;
    words_.push_back(PieceWord{piece.id, slot == Slots::none ? EntryWord::foreign : slot, distance}.pack());
  }
  std::uint64_t* const outcome = outcomes_.take(words_.size());
  std::ranges::copy(words_, outcome);
  return outcome;
}

/// Applies a stored outcome.
void LevelSimulator::apply_outcome(const Slots& slots, std::span<const Level::Entry> old,
                                   const std::uint64_t* outcome) {
  OutcomeWord head = OutcomeWord::unpack(*outcome++);
  for (; head.counts > 0; --head.counts, ++outcome) {
    const CountWord count = CountWord::unpack(*outcome);
    one_.counts[count.counter] += count.by;
  }
  if (has_word_) one_.level().words()[0] = *outcome++;
  const auto line = [&](std::uint32_t slot, std::int64_t distance) {
    return slot == EntryWord::foreign ? line_of(old[static_cast<std::size_t>(distance)])
                                      : slots[slot].anchor + distance;
  };
  SetEntries entries(old.size());
  for (std::size_t way = 0; way < old.size(); ++way) {
    const auto entry = EntryWord::unpack(static_cast<std::uint32_t>(outcome[way / 2] >> (way % 2 * 32)));
    entries.all()[way] = entry.slot == EntryWord::vacant
                             ? Level::empty
                             : static_cast<Level::Entry>(line(entry.slot, entry.distance)) << 1 |
                                   static_cast<Level::Entry>(entry.dirty);
  }
  one_.level().write(0, entries.all());
  outcome += (old.size() + 1) / 2;
  for (; head.pieces > 0; --head.pieces, ++outcome) {
    const PieceWord piece = PieceWord::unpack(*outcome);
    pieces_.push_back({0, piece.id, line(piece.slot, piece.distance)});
  }
}

std::size_t LevelSimulator::bytes() const {
  return known_.bytes() + outcomes_.bytes();
}

void LevelSimulator::forget() {
  known_.clear();
  outcomes_ = {};
  ++effort_.flushes;
}

} // namespace recount::model
