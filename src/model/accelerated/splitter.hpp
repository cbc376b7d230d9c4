// Divides what a set asks for among the sets of the level below.
#pragma once

#include "model/accelerated/interner.hpp"
#include "model/accelerated/set_trace.hpp"
#include "model/set_index.hpp"

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace recount::model {

/// The destination of requests to the level below: line y of this level (line of the set * sets + set) lies
/// in line (add + y * 2^up) / 2^down of the level below. Both index functions are invertible.
struct Below {
  bool memory = true; ///< to no level: it is counted
  bool walk = false;  ///< it is a page walk
  SetIndex index{1};
  std::int64_t add = 0;
  unsigned up = 0, down = 0;
};

/// Divides traces of a level with this index. A trace is divided once, wherever it lies, unless a hash or a
/// longer line below puts its lines into different sets at different places. Not thread-safe; keeps a
/// reference to the store.
class Splitter {
public:
  Splitter(const SetIndex& index, const Below& below, SetTraces& traces);

  /// Calls give(set below, trace) for every part of a trace of set number `set`.
  template <class Give>
  void split(std::int64_t set, const PlacedTrace& in, Give&& give) {
    set_ = set;
    for_each(parts(in), in, [&](const PlacedTrace& part) {
      const std::int64_t line = line_below(part.line);
      give(set_below(line), PlacedTrace{part.id, row_below(line)});
    });
  }
  /// What became of what goes; the traces made stay.
  void forget() {
    known_.clear();
    parts_ = {};
  }
  [[nodiscard]] std::size_t bytes() const { return known_.bytes() + parts_.capacity() * sizeof(PlacedTrace); }

private:
  /// Where in parts_ those of a trace are; none: the trace itself is the only one.
  struct Range {
    std::uint32_t from = 0, size = 0;
  };
  struct Group { ///< events or children that go to one set below
    std::vector<TraceEvent> events;
    std::vector<TraceChild> children;
    std::int64_t line = 0; ///< of the first, in this set
  };

  Range parts(const PlacedTrace& in);
  void divide_leaf(const PlacedTrace& in);
  void divide_branch(const PlacedTrace& in);
  Group& group_of(std::int64_t line);
  Range close_groups(const PlacedTrace& in, bool leaf);
  template <class Visit>
  void for_each(Range range, const PlacedTrace& in, Visit&& visit) const {
    if (range.size == 0) visit(in);
    for (std::uint32_t i = range.from; i < range.from + range.size; ++i)
      visit(PlacedTrace{parts_[i].id, in.line + parts_[i].line});
  }

  /// Address of a line in units of the level below, before it is cut down to lines.
  [[nodiscard]] std::int64_t address_below(std::int64_t line) const {
    const auto row = static_cast<std::uint64_t>(line), set = static_cast<std::uint64_t>(set_);
    return below_.add + static_cast<std::int64_t>(index_.line_of(set, row) << below_.up);
  }
  [[nodiscard]] std::int64_t line_below(std::int64_t line) const {
    return address_below(line) >> below_.down;
  }
  /// The set below that a line of the level below maps to, and the line of that set.
  [[nodiscard]] std::int64_t set_below(std::int64_t line) const {
    return static_cast<std::int64_t>(below_.index(static_cast<std::uint64_t>(line)));
  }
  [[nodiscard]] std::int64_t row_below(std::int64_t line) const {
    return line / static_cast<std::int64_t>(below_.index.sets());
  }

  SetIndex index_;
  Below below_;
  SetTraces& traces_;
  /// Of a trace with several lines: bits of its address below, and of its line and the set, that decide which
  /// of its lines meet in a set below. Where both index functions are linear and lines as long below, none.
  std::int64_t address_mask_ = 0, row_mask_ = 0;
  std::int64_t set_ = 0;

  Interner known_;                 ///< traces and those bits; aside: a Range of their parts
  std::vector<PlacedTrace> parts_; ///< `line` still of the set above, relative to that of the trace
  std::vector<std::uint64_t> key_;
  std::vector<std::uint32_t> group_of_; ///< by set below: number of its group + 1, or 0
  std::deque<Group> groups_;            // stay where they are
  std::size_t groups_used_ = 0;
};

} // namespace recount::model
