#include "model/accelerated/gatherer.hpp"

#include <algorithm>

namespace recount::model {

void Gatherer::put(std::vector<PlacedTrace>& in) {
  const auto low = [&](const PlacedTrace& trace) { return trace.line + traces_.about(trace.id).low; };
  std::ranges::stable_sort(in, {}, low);
  std::size_t made = 0;
  for (std::size_t from = 0, to = 0; from < in.size(); from = to) {
    std::int64_t high = low(in[from]);
    for (; to < in.size() && low(in[to]) <= high; ++to)
      high = std::max(high, in[to].line + traces_.about(in[to].id).high);
    in[made++] = join(std::span(in).subspan(from, to - from));
  }
  in.resize(made);
}

PlacedTrace Gatherer::join(std::span<const PlacedTrace> in) {
  if (in.size() == 1) return in.front();
  const std::int64_t line = in.front().line;
  key_.clear();
  for (const PlacedTrace& trace : in) {
    key_.push_back(trace.id);
    key_.push_back(static_cast<std::uint64_t>(trace.line - line));
  }
  const Interner::Entry known = known_.put(key_);
  if (known.aside() == 0) {
    const PlacedTrace made = traces_.about(in.front().id).leaf ? leaves(in) : branches(in);
    results_.push_back({made.id, made.line - line});
    known.aside() = results_.size();
  }
  const PlacedTrace& result = results_[known.aside() - 1];
  return {result.id, line + result.line};
}

PlacedTrace Gatherer::leaves(std::span<const PlacedTrace> in) {
  events_.clear();
  merge_.run(
      traces_, in.size(), [&](std::size_t i) { return in[i].id; },
      [&](std::size_t i, TraceEvent e) {
        e.line += in[i].line;
        events_.push_back(e);
        return true;
      });
  return {traces_.leaf(events_), events_.front().line};
}

PlacedTrace Gatherer::branches(std::span<const PlacedTrace> in) {
  if (depth_ == frames_.size()) frames_.emplace_back();
  Frame& frame = frames_[depth_++];
  frame.merge.begin(traces_, in.size(), [&](std::size_t i) { return in[i].id; });
  frame.last.clear();
  frame.children.clear();
  PlacedTrace became;
  for (;;) {
    frame.now.clear();
    const auto next = frame.merge.next(traces_, [&](std::size_t i, const TraceChild& child) {
      frame.now.push_back({child.id, in[i].line + child.line});
    });
    if (next.times == 0) break;
    if (frame.now != frame.last) {
      became = join(frame.now);
      frame.last = frame.now;
    }
    frame.children.push_back({next.at, became.id, became.line, next.times});
  }
  --depth_;
  return {traces_.branch(frame.children), frame.children.front().line};
}

} // namespace recount::model
