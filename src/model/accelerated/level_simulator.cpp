#include "model/accelerated/level_simulator.hpp"

#include <algorithm>
#include <bit>

namespace recount::model {

LevelSimulator::LevelSimulator(const LevelShape& shape, const LevelLimits& limits, const SetTraces& traces,
                               SetTraces& below)
    : shape_(shape),
      limits_(limits),
      traces_(traces),
      traces_below_(below),
      rows_(traces),
      has_word_(has_word(shape.rules.policy)),
      one_(shape.rules) {}

bool LevelSimulator::run(std::int64_t set, std::span<const PlacedTrace> in, std::span<Level::Entry> entries,
                         std::uint64_t* tree) {
  const std::uint64_t sets = shape_.index.sets(), number = static_cast<std::uint64_t>(set);
  set_ = set;
  stack_.assign(in.begin(), in.end());
  pieces_.clear();
  if (in.empty()) return true;
  if (bytes() > limits_.bytes) forget();
  SetEntries here(entries.size());
  for (std::size_t way = 0; way < entries.size(); ++way)
    here.all()[way] =
        entries[way] == Level::empty ? Level::empty : (entries[way] >> 1) / sets << 1 | (entries[way] & 1);
  one_.level().write(0, here.all());
  if (has_word_) one_.level().words()[0] = *tree;
  apply({0, in.size()});
  one_.level().read(0, entries);
  for (Level::Entry& entry : entries)
    if (entry != Level::empty) entry = shape_.index.line_of(number, entry >> 1) << 1 | (entry & 1);
  if (has_word_) *tree = one_.level().words()[0];
  return !lost_;
}

/// Where only the order counts, a segment of one segment is that one.
void LevelSimulator::unwrap(Range in) {
  for (;;) {
    for (const PlacedTrace& trace : at(in))
      if (traces_.about(trace.id).leaf || traces_.size(trace.id) != 1 ||
          traces_.child(trace.id, 0).times != 1 ||
          traces_.child(trace.id, 0).at != traces_.child(stack_[in.from].id, 0).at)
        return;
    for (std::size_t i = in.from; i < in.from + in.size; ++i)
      stack_[i].id = traces_.child(stack_[i].id, 0).id;
  }
}

/// Carries a segment out, or what it did when it met an equal state before.
void LevelSimulator::apply(Range in) {
  if (lost_) return;
  if (shape_.apart) unwrap(in);
  const bool worth = events_of(in) >= limits_.events;
  Slots slots;
  if ((worth || !shape_.below.memory) && !slots.assign(at(in), traces_)) {
    lost_ = true;
    return;
  }
  if (!worth) return execute(in, slots);
  const SetEntries old(one_.level(), shape_.rules.ways);
  if (!encode_state(in, slots, old.all())) return execute(in, slots);
  if ((++effort_.lookups & 0xfff) == 0 && bytes() > limits_.bytes) forget();
  const Interner::Entry known = known_.put(key_);
  if (known.aside() != 0) {
    ++effort_.hits;
    return apply_outcome(slots, old.all(), std::bit_cast<const std::uint64_t*>(known.aside()));
  }
  const std::int64_t flushes = effort_.flushes;
  const SetCounts before = one_.counts;
  const std::size_t pieces = pieces_.size();
  execute(in, slots);
  if (flushes != effort_.flushes || lost_) return; // `known` is gone
  known.aside() = std::bit_cast<std::uint64_t>(store_outcome(slots, old.all(), before, pieces));
}

void LevelSimulator::execute(Range in, const Slots& slots) {
  const std::size_t pieces = pieces_.size();
  const bool leaf = traces_.about(stack_[in.from].id).leaf;
  // What goes to memory needs no traces, so short segments are carried out with all that lies inside.
  if ((leaf || (shape_.below.memory && events_of(in) < limits_.events)) && in_rows(in)) {
    if (!shape_.below.memory) group_events(slots);
    return;
  }
  branch(in);
  if (!shape_.below.memory) group_pieces(slots, pieces);
}

/// The segments inside, in order.
void LevelSimulator::branch(Range in) {
  if (depth_ == frames_.size()) frames_.emplace_back();
  Frame& frame = frames_[depth_++];
  frame.merge.begin(traces_, in.size, [&](std::size_t i) { return stack_[in.from + i].id; });
  frame.last.clear();
  frame.entries.resize(shape_.rules.ways);
  SetCounts change{};
  bool still = false; // the last segment left the state as it was
  std::size_t last_pieces = 0, last_end = 0;
  const std::size_t top = stack_.size();
  for (;; stack_.resize(top)) {
    auto next = frame.merge.next(traces_, [&](std::size_t i, const TraceChild& child) {
      stack_.push_back({child.id, stack_[in.from + i].line + child.line});
    });
    if (next.times == 0) break;
    const Range part{top, stack_.size() - top};
    if (!std::ranges::equal(at(part), frame.last)) {
      frame.last.assign(at(part).begin(), at(part).end());
      still = false;
    }
    for (; next.times > 0 && !still; ++next.at, --next.times) {
      std::ranges::copy(frame.last, stack_.begin() + static_cast<std::ptrdiff_t>(top));
      one_.level().read(0, frame.entries);
      const std::uint64_t old_tree = tree();
      const SetCounts before = one_.counts;
      last_pieces = pieces_.size();
      apply(part);
      last_end = pieces_.size();
      for (std::size_t i = last_pieces; i < last_end; ++i)
        pieces_[i].at = next.at;
      const SetEntries entries(one_.level(), shape_.rules.ways);
      still = old_tree == tree() && std::ranges::equal(entries.all(), frame.entries);
      if (still)
        for (std::size_t i = 0; i < change.size(); ++i)
          change[i] = one_.counts[i] - before[i];
    }
    if (next.times == 0) continue;
    for (std::size_t i = 0; i < change.size(); ++i) // the same again from the same state
      one_.counts[i] += next.times * change[i];
    for (std::size_t i = last_pieces; i < last_end; ++i)
      pieces_.push_back({next.at, pieces_[i].id, pieces_[i].line, next.times});
  }
  --depth_;
}

} // namespace recount::model
