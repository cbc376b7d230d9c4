// Traces that meet in one set, distinguished by their ranges of lines.
#pragma once

#include "model/accelerated/set_trace.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace recount::model {

/// Traces whose lines may coincide share a slot; lines of different slots never do. A line of a slot is given
/// by its distance from the slot's anchor, any other line of the set is foreign: no trace asks for it.
class Slots {
public:
  static constexpr std::size_t most = 48;
  static constexpr unsigned none = most;
  struct Slot {
    std::int64_t anchor, low, high;
  };

  /// False when there are more traces than `most`.
  bool assign(std::span<const PlacedTrace> traces, const SetTraces& store) {
    size_ = 0;
    if (traces.size() > most) return false;
    for (std::size_t i = 0; i < traces.size(); ++i) {
      const SetTraces::About& about = store.about(traces[i].id);
      take(i, {traces[i].line, traces[i].line + about.low, traces[i].line + about.high});
    }
    return true;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] unsigned of_trace(std::size_t i) const { return of_[i]; }
  [[nodiscard]] const Slot& operator[](std::size_t i) const { return slots_[i]; }
  /// The slot that a line belongs to, or `none`.
  [[nodiscard]] unsigned of_line(std::int64_t line) const {
    for (unsigned i = 0; i < size_; ++i)
      if (slots_[i].low <= line && line <= slots_[i].high) return i;
    return none;
  }

private:
  static bool meet(const Slot& x, const Slot& y) { return x.low <= y.high && y.low <= x.high; }

  void take(std::size_t trace, Slot slot) {
    auto home = static_cast<unsigned>(size_);
    for (unsigned i = 0; i < home; ++i)
      if (meet(slots_[i], slot)) home = i;
    of_[trace] = static_cast<std::uint8_t>(home);
    if (home == size_) {
      slots_[size_++] = slot;
      return;
    }
    slots_[home].low = std::min(slots_[home].low, slot.low);
    slots_[home].high = std::max(slots_[home].high, slot.high);
    // Wider now, it may meet others: those come in, and the last takes the place that becomes free.
    for (unsigned i = 0; i < size_; ++i) {
      if (i == home || !meet(slots_[i], slots_[home])) continue;
      const unsigned keep = std::min(i, home), drop = std::max(i, home);
      slots_[keep].low = std::min(slots_[keep].low, slots_[drop].low);
      slots_[keep].high = std::max(slots_[keep].high, slots_[drop].high);
      const auto last = static_cast<unsigned>(--size_);
      slots_[drop] = slots_[last];
      for (std::size_t s = 0; s <= trace; ++s) {
        if (of_[s] == drop)
          of_[s] = static_cast<std::uint8_t>(keep);
        else if (of_[s] == last)
          of_[s] = static_cast<std::uint8_t>(drop);
      }
      home = keep;
      i = ~0u; // from the beginning
    }
  }

  std::array<Slot, most> slots_;
  std::array<std::uint8_t, most> of_;
  std::size_t size_ = 0;
};

} // namespace recount::model
