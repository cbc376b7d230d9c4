// Through the segments inside of traces that meet, in order.
#pragma once

#include "model/accelerated/set_trace.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace recount::model {

/// Goes through the children of several traces at once. Not thread-safe.
class TraceMerge {
public:
  /// The next segments, alike one after the other; none when `times` is 0.
  struct Segments {
    std::uint32_t at = 0, times = 0;
  };

  /// From the beginning of `count` traces; id(i) is the number of one.
  template <class Id>
  void begin(const SetTraces& traces, std::size_t count, Id&& id) {
    cursors_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      cursors_[i] = {id(i), 0, static_cast<std::uint32_t>(traces.size(id(i))), {}};
      advance(traces, cursors_[i]);
    }
  }

  /// Goes on, and calls take(i, child) for every trace that has a part in the segments returned.
  template <class Take>
  Segments next(const SetTraces& traces, Take&& take) {
    constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
    Segments next{never, 0};
    std::uint32_t end = never; // the next of the others begins, or the first of these ends
    for (const Cursor& c : cursors_) {
      if (c.child.times == 0) continue;
      if (c.child.at < next.at) {
        end = std::min(next.at, c.child.at + c.child.times);
        next.at = c.child.at;
      } else {
        end = std::min(end, c.child.at == next.at ? c.child.at + c.child.times : c.child.at);
      }
    }
    if (next.at == never) return {};
    next.times = end - next.at;
    for (std::size_t i = 0; i < cursors_.size(); ++i) {
      Cursor& c = cursors_[i];
      if (c.child.times == 0 || c.child.at != next.at) continue;
      take(i, static_cast<const TraceChild&>(c.child));
      c.child.at += next.times;
      c.child.times -= next.times;
      if (c.child.times == 0) advance(traces, c);
    }
    return next;
  }

private:
  struct Cursor {
    std::uint32_t id, next, size;
    TraceChild child; ///< what is left of it; no times: none
  };

  static void advance(const SetTraces& traces, Cursor& c) {
    if (c.next < c.size)
      c.child = traces.child(c.id, c.next++);
    else
      c.child.times = 0;
  }

  std::vector<Cursor> cursors_;
};

} // namespace recount::model
