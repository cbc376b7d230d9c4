// How the turns of a loop are cut into segments.
#pragma once

#include "model/accelerated/program.hpp"
#include "model/accelerated/set_trace.hpp"

#include <cstdint>

namespace recount::model {

/// Turns of an innermost loop that are one segment: what a tag can tell apart. Of other loops, one.
inline constexpr std::int64_t fan = 8;

inline std::int64_t unit_turns(const Step& step) {
  return step.leaf ? std::int64_t{TraceTime::turns} : 1;
}

/// Calls visit(level, first turn, turns): segments of 8^level units, as long as they come out even, what
/// remains in shorter ones. Segments of equal position and length repeat, so long ones can be recognised.
/// A segment of level 1 or more has 8 inside it, each an eighth.
template <class Visit>
void for_each_segment(const Step& step, std::int64_t turns, Visit&& visit) {
  const std::int64_t unit = unit_turns(step);
  for (std::int64_t turn = 0; turn < turns;) {
    unsigned level = 0;
    std::int64_t length = unit;
    while (step.regular && turn % (fan * length) == 0 && fan * length <= turns - turn)
      ++level, length *= fan;
    if (length > turns - turn) length = turns - turn;
    visit(level, turn, length);
    turn += length;
  }
}

} // namespace recount::model
