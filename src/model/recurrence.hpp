// Repeated passes over the same accesses, simulated only until the caches' state recurs.
#pragma once

#include "model/hierarchy.hpp"

#include <cstdint>

namespace recount::model {

/// The same counts and final state as calling `pass()` `passes` times, for a pass that replays the same
/// accesses each time. Once the state after a pass equals the state after an earlier one, what lies between
/// repeats for ever and is counted at once. The whole state is compared, no hash, so this is exact; a state
/// that never recurs (random replacement) is simulated to the end. Keeps one state (Brent's cycle search).
/// `progress` is told after each pass, where the passes are the whole simulation. With `first`, only that
/// many caches are compared: a state recurs if, besides, no request has reached the next one meanwhile.
template <class Pass>
void repeat(Hierarchy& caches, std::int64_t passes, Pass&& pass, const Progress* progress = nullptr,
            std::size_t first = Hierarchy::every) {
  const auto reached = [&] { return first < caches.levels() ? caches.reached(first) : 0; };
  Hierarchy::State mark;
  std::int64_t reached_at_mark = 0;
  Counts at_mark;
  std::int64_t marked = 0, next_mark = 1;
  for (std::int64_t done = 1; done <= passes; ++done) {
    pass();
    if (progress) progress->tell(static_cast<double>(done) / static_cast<double>(passes));
    if (done == passes) return;
    if (marked > 0 && reached() == reached_at_mark && caches.is(mark, first)) {
      const std::int64_t period = done - marked, left = passes - done;
      caches.add(caches.counts(), at_mark, left / period);
      for (std::int64_t i = 0; i < left % period; ++i)
        pass();
      return;
    }
    if (done == next_mark) {
      mark.clear();
      caches.save(mark, first);
      reached_at_mark = reached();
      at_mark = caches.counts();
      marked = done;
      next_mark *= 2;
    }
  }
}

} // namespace recount::model
