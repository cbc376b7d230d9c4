// Through the events of innermost traces that meet, in order of time.
#pragma once

#include "model/accelerated/set_trace.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace recount::model {

/// Merges the events of several leaves. Not thread-safe.
class LeafMerge {
public:
  /// Calls take(i, event) for every event of `count` traces; id(i) is the number of one. What repeats is cut
  /// where an event of another trace comes between. Lines are relative to the trace's first. Ends early when
  /// `take` returns false.
  template <class Id, class Take>
  bool run(const SetTraces& traces, std::size_t count, Id&& id, Take&& take) {
    constexpr std::uint64_t none = ~std::uint64_t{0};
    runs_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      runs_[i] = {id(i), 0, static_cast<std::uint32_t>(traces.size(id(i))), {}};
      advance(traces, runs_[i]);
    }
    for (;;) {
      std::size_t first = count;
      std::uint64_t soonest = none, others = none; // when the next of the others comes
      for (std::size_t i = 0; i < count; ++i) {
        if (runs_[i].event.count == 0) continue;
        const std::uint64_t time = runs_[i].event.tag;
        if (time < soonest) {
          others = soonest;
          soonest = time;
          first = i;
        } else {
          others = std::min(others, time);
        }
      }
      if (first == count) return true;
      Run& run = runs_[first];
      TraceEvent e = run.event;
      if (e.count > 1 && others != none)
        e.count = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
            (others - soonest + TraceTime::turn - 1) / TraceTime::turn, 1, e.count));
      run.event.count -= e.count;
      run.event.tag += e.count * TraceTime::turn;
      if (run.event.count == 0) advance(traces, run);
      if (!take(first, e)) return false;
    }
  }

private:
  struct Run { ///< how far one leaf is
    std::uint32_t id, next, size;
    TraceEvent event; ///< what is left of it; no count: the end
  };

  static void advance(const SetTraces& traces, Run& run) {
    if (run.next < run.size)
      run.event = traces.event(run.id, run.next++);
    else
      run.event.count = 0;
  }

  std::vector<Run> runs_;
};

} // namespace recount::model
