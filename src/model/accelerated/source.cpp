#include "model/accelerated/source.hpp"

#include "model/accelerated/segments.hpp"

#include <algorithm>
#include <numeric>

namespace recount::model {

namespace {

std::int64_t rest(std::int64_t x, std::int64_t by) {
  const std::int64_t r = x % by;
  return r < 0 ? r + by : r;
}
std::int64_t floor_div(std::int64_t x, std::int64_t by) {
  return (x - rest(x, by)) / by;
}
std::uint64_t unsign(std::int64_t x) {
  return static_cast<std::uint64_t>(x);
}

} // namespace

Source::Source(const Program& program, SetTraces& traces, std::int64_t sets, unsigned shift, bool demand)
    : program_(program),
      traces_(traces),
      sets_(sets),
      line_(std::int64_t{1} << shift),
      pitch_(sets << shift),
      phase_(demand ? TraceTime::demand : 0) {}

void Source::traces(std::int64_t set, std::vector<PlacedTrace>& all) {
  set_ = set;
  variables_ = {};
  for (array_ = 0; array_ < nest_arrays; ++array_)
    if (const Found found = sequence(program_.steps)) all.push_back(*found);
}

Source::Found Source::branch(const std::vector<TraceChild>& children) {
  if (children.empty()) return {};
  return PlacedTrace{traces_.branch(children), children.front().line};
}

Source::Found Source::sequence(const std::vector<Step>& steps) {
  if (steps.size() == 1) return loop(steps.front());
  std::vector<TraceChild> children;
  for (std::uint32_t at = 0; at < steps.size(); ++at)
    if (const Found found = loop(steps[at])) children.push_back({at, found->id, found->line});
  return branch(children);
}

Source::Found Source::loop(const Step& step) {
  const std::int64_t turns = step.turns(variables_), first = step.bare ? 0 : step.first.at(variables_);
  if (turns == 0 || (step.arrays >> array_ & 1) == 0) return {};
  std::vector<TraceChild> children;
  std::uint32_t at = 0;
  for_each_segment(step, turns, [&](unsigned level, std::int64_t turn, std::int64_t length) {
    if (const Found found = segment(step, level, first, turn, length))
      children.push_back({at, found->id, found->line});
    ++at;
  });
  if (at == 1 && !children.empty()) return PlacedTrace{children.front().id, children.front().line};
  return branch(children);
}

/// `turns` turns of a loop from turn number `turn` on; `first` is its variable's first value.
Source::Found Source::segment(const Step& step, unsigned level, std::int64_t first, std::int64_t turn,
                              std::int64_t turns) {
  if (!step.bare) variables_[step.variable] = first + turn * step.step;
  Key key;
  std::int64_t row = 0;
  const KeyKind kind = step.regular ? make_key(step, turns, key, row) : KeyKind::none;
  if (kind == KeyKind::untouched) return {};
  if (kind == KeyKind::none) return inside(step, level, first, turn, turns);
  constexpr std::uint64_t nothing = 1, something = 2;
  const Interner::Entry known = known_.put(key.span());
  if (known.aside() == nothing) return {};
  if (known.aside() >= something) {
    const PlacedTrace& trace = found_[known.aside() - something];
    return PlacedTrace{trace.id, trace.line + row};
  }
  const Found found = inside(step, level, first, turn, turns);
  known.aside() = found ? something + found_.size() : nothing;
  if (found) found_.push_back({found->id, found->line - row});
  return found;
}

Source::Found Source::inside(const Step& step, unsigned level, std::int64_t first, std::int64_t turn,
                             std::int64_t turns) {
  if (level == 0) return step.leaf ? leaf(step, turns) : sequence(step.body);
  std::vector<TraceChild> children;
  const std::int64_t part = turns / fan;
  for (std::uint32_t at = 0; at < fan; ++at)
    if (const Found found = segment(step, level - 1, first, turn + at * part, part))
      children.push_back({at, found->id, found->line});
  return branch(children);
}

Source::Found Source::leaf(const Step& step, std::int64_t turns) {
  events_.clear();
  const bool alone = std::ranges::count(step.accesses, array_, &LeafAccess::array) == 1;
  for (std::uint32_t number = 0; number < step.accesses.size(); ++number)
    if (step.accesses[number].array == array_) meet(step.accesses[number], number, turns, alone);
  if (events_.empty()) return {};
  if (!alone) std::ranges::sort(events_, {}, &TraceEvent::tag);
  return PlacedTrace{traces_.leaf(events_), events_.front().line};
}

/// The turns in which one access meets the set; those on one line are one event where the access is alone.
void Source::meet(const LeafAccess& access, std::uint32_t number, std::int64_t turns, bool alone) {
  const std::int64_t distance = access.start.at(variables_) - set_ * line_, step = access.own;
  std::int64_t row = floor_div(distance, pitch_), residue = distance - row * pitch_;
  for (std::int64_t turn = 0; turn < turns;) {
    if (residue < line_) {
      std::int64_t run = 1;
      if (step == 0)
        run = turns - turn;
      else if (step > 0 && step < line_)
        run = std::min(turns - turn, (line_ - 1 - residue) / step + 1);
      TraceEvent event;
      event.cause = access.cause;
      event.writes = phase_ != 0 && access.cause == Cause::store;
      event.line = row;
      event.count = static_cast<std::uint32_t>(alone ? run : 1);
      for (std::int64_t i = 0; i < (alone ? 1 : run); ++i) {
        event.tag = static_cast<std::uint32_t>(turn + i) << TraceTime::turn_shift |
                    number << TraceTime::access_shift | phase_;
        events_.push_back(event);
      }
      turn += run;
      residue += run * step;
    } else {
      // Small steps lead straight to the next row.
      const std::int64_t skip = step > 0 && step < line_ ? (pitch_ - residue + step - 1) / step : 1;
      if (step == 0) return;
      turn += skip;
      residue += skip * step;
    }
    if (residue < 0 || residue >= pitch_) {
      const std::int64_t rows = floor_div(residue, pitch_);
      row += rows;
      residue -= rows * pitch_;
    }
  }
}

/// Describes what a segment that begins at variables_ does to the set: equal keys, equal traces, but for the
/// row (line of the set) that the first stream begins in.
Source::KeyKind Source::make_key(const Step& step, std::int64_t turns, Key& key, std::int64_t& row) const {
  std::array<std::int64_t, nest_depth> inner{};
  if (!tell_turns(step, turns, variables_, inner)) return KeyKind::none;
  key.add(step.id * nest_arrays + array_);
  key.add(unsign(turns));
  for (std::size_t l = 0; l < step.inner.size(); ++l)
    key.add(unsign(inner[l]));
  std::size_t met = 0, number = 0;
  for (const Stream& stream : step.streams) {
    if (stream.array != array_) continue;
    if (++number > most_streams) return KeyKind::none;
    const std::int64_t start = stream.start.at(variables_);
    std::int64_t low = start, high = start + stream.bytes - 1;
    const auto reach = [&](std::int64_t span) { (span < 0 ? low : high) += span; };
    reach(stream.own * (turns - 1));
    for (std::size_t l = 0; l < step.inner.size(); ++l)
      if (inner[l] > 1) reach(stream.inner[l] * (inner[l] - 1));
    const std::int64_t from = floor_div(low, line_), to = floor_div(high, line_);
    if (rest(set_ - from, sets_) > to - from) {
      key.add(~std::uint64_t{0});
      continue;
    }
    const std::int64_t distance = start - set_ * line_, here = floor_div(distance, pitch_);
    const std::int64_t grain = std::gcd(stream.grain, line_);
    if (++met == 1) row = here;
    key.add(unsign((distance - here * pitch_) / grain));
    key.add(unsign(here - row));
  }
  return met == 0 ? KeyKind::untouched : KeyKind::complete;
}

std::size_t Source::bytes() const {
  return known_.bytes() + found_.capacity() * sizeof(PlacedTrace);
}

} // namespace recount::model
