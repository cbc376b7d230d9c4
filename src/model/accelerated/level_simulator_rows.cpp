// How a LevelSimulator carries out events one by one: the rows of all traces, merged by time.
#include "model/accelerated/level_simulator.hpp"

#include <algorithm>

namespace recount::model {

/// False where a trace has no row.
bool LevelSimulator::in_rows(Range in) {
  runs_.clear();
  for (const PlacedTrace& trace : at(in)) {
    const auto row = rows_.row(trace.id);
    if (!row) return false;
    runs_.push_back(
        {row->data(), row->data() + row->size(), row->front().time, row->front().event.count, trace.line});
  }
  merge_rows();
  return true;
}

void LevelSimulator::merge_rows() {
  while (runs_.size() > 1) {
    std::size_t first = 0;
    std::uint64_t others = ~std::uint64_t{0}; // when the next of them comes
    for (std::size_t i = 1; i < runs_.size(); ++i) {
      std::uint64_t later = runs_[i].time;
      if (later < runs_[first].time) {
        later = runs_[first].time;
        first = i;
      }
      others = std::min(others, later);
    }
    Run& run = runs_[first];
    std::uint32_t count = run.count;
    if (count > 1) {
      const std::uint64_t till_others = (others - run.time + TraceTime::turn - 1) / TraceTime::turn;
      count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, till_others));
    }
    take(run, count);
    run.count -= count;
    run.time += std::uint64_t{count} * TraceTime::turn;
    if (run.count > 0) continue;
    if (++run.next == run.end) {
      runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(first));
    } else {
      run.time = run.next->time;
      run.count = run.next->event.count;
    }
  }
  Run& run = runs_.front();
  take(run, run.count);
  while (++run.next != run.end) {
    run.time = run.next->time;
    take(run, run.next->event.count);
  }
}

/// `count` of the requests that come next in a run.
void LevelSimulator::take(const Run& run, std::uint32_t count) {
  TraceEvent e = run.next->event;
  e.line += run.line;
  e.tag = static_cast<std::uint32_t>(run.time);
  ++effort_.events;
  if (shape_.below.memory) {
    while (count > 0)
      count -= one_.take(e, count, [&](unsigned, const TraceEvent& asked, std::int64_t) {
        one_.counts[LevelCounts::size + static_cast<std::size_t>(asked.cause)] += asked.count;
      });
    return;
  }
  while (count > 0) {
    const std::uint32_t done = one_.take(e, count, [&](unsigned which, TraceEvent asked, std::int64_t line) {
      asked.tag = e.tag | which << shape_.order_shift;
      asked.line = line;
      if (shape_.below.walk) asked.cause = Cause::walk;
      events_.push_back(asked);
    });
    count -= done;
    e.tag += done * TraceTime::turn;
  }
}

} // namespace recount::model
