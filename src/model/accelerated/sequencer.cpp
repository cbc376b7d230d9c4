#include "model/accelerated/sequencer.hpp"

#include "model/accelerated/order.hpp"

#include <algorithm>
#include <array>

namespace recount::model {

void Sequencer::put(std::span<PlacedTrace> in) {
  if (in.empty()) return;
  ids_.clear();
  for (const PlacedTrace& trace : in)
    ids_.push_back(trace.id);
  replace(ids_);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i].id = ids_[i];
}

void Sequencer::replace(std::span<std::uint32_t> ids) {
  if (ids.size() == 1) {
    const std::uint32_t old = ids[0];
    if (old >= alone_.size()) alone_.resize(old + old / 2 + 1, 0);
    if (alone_[old] == 0) {
      renumber(ids);
      alone_[old] = ids[0] + 1;
    }
    ids[0] = alone_[old] - 1;
    return;
  }
  if (ids.size() == 2) {
    const PairTable::Pair old{ids[0], ids[1]};
    if (const PairTable::Pair* const known = pairs_.find(old)) {
      ids[0] = known->one;
      ids[1] = known->other;
      return;
    }
    renumber(ids);
    pairs_.put(old, {ids[0], ids[1]});
    return;
  }
  std::array<std::uint64_t, 64> key;
  if (ids.size() > key.size()) return;
  std::ranges::copy(ids, key.begin());
  const Interner::Entry known = known_.put(std::span(key).first(ids.size()));
  if (known.aside() == 0) {
    renumber(ids);
    known.aside() = results_.size() + 1;
    results_.insert(results_.end(), ids.begin(), ids.end());
    return;
  }
  std::copy_n(results_.begin() + static_cast<std::ptrdiff_t>(known.aside() - 1), ids.size(), ids.begin());
}

void Sequencer::renumber(std::span<std::uint32_t> ids) {
  traces_.about(ids[0]).leaf ? leaves(ids) : branches(ids);
}

void Sequencer::leaves(std::span<std::uint32_t> ids) {
  if (leaves_.size() < ids.size()) leaves_.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    leaves_[i].clear();
  Order order;
  const bool numbered = merge_.run(
      traces_, ids.size(), [&](std::size_t i) { return ids[i]; },
      [&](std::size_t i, TraceEvent e) {
        e.tag = order.number(i, e.count);
        leaves_[i].push_back(e);
        return order.fits();
      });
  if (!numbered) return; // too many to number: as they are
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = traces_.leaf(leaves_[i]);
}

/// The segments inside, with what lies in each. What they become is looked up at random places of memory: all
/// are asked for before the first is needed.
void Sequencer::divide(Frame& frame) {
  frame.merge.begin(traces_, frame.old.size(), [&](std::size_t i) { return frame.old[i]; });
  frame.segments.clear();
  frame.ids.clear();
  frame.origins.clear();
  for (;;) {
    const auto from = static_cast<std::uint32_t>(frame.ids.size());
    const auto next = frame.merge.next(traces_, [&](std::size_t i, const TraceChild& child) {
      frame.ids.push_back(child.id);
      frame.origins.push_back({static_cast<std::uint32_t>(i), child.line});
    });
    if (next.times == 0) return;
    const auto size = static_cast<std::uint32_t>(frame.ids.size()) - from;
    frame.segments.push_back({next.times, from, size});
    if (size == 2) pairs_.prefetch({frame.ids[from], frame.ids[from + 1]});
  }
}

void Sequencer::branches(std::span<std::uint32_t> ids) {
  if (depth_ == frames_.size()) frames_.emplace_back();
  Frame& frame = frames_[depth_++];
  frame.old.assign(ids.begin(), ids.end());
  if (frame.children.size() < ids.size()) frame.children.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    frame.children[i].clear();
  divide(frame);
  frame.became = frame.ids;
  std::uint32_t number = 0;
  const Segment* last = nullptr;
  for (const Segment& segment : frame.segments) {
    const auto of = [&](std::vector<std::uint32_t>& all, const Segment& s) {
      return std::span(all).subspan(s.from, s.size);
    };
    const auto now = of(frame.became, segment);
    if (last != nullptr && std::ranges::equal(now, of(frame.ids, *last)))
      std::ranges::copy(of(frame.became, *last), now.begin()); // as the segment before
    else
      replace(now);
    for (std::uint32_t i = segment.from; i < segment.from + segment.size; ++i) {
      const Origin& origin = frame.origins[i];
      frame.children[origin.trace].push_back({number, frame.became[i], origin.line, segment.times});
    }
    number += segment.times;
    last = &segment;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) // a segment of one segment is that one
    ids[i] = number == 1 ? frame.children[i].front().id : traces_.branch(frame.children[i]);
  --depth_;
}

} // namespace recount::model
