// The requests of a loop-nest segment to one cache set; equal traces are stored once.
#pragma once

#include "model/accelerated/interner.hpp"
#include "model/accelerated/packed_words.hpp"
#include "model/counts.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace recount::model {

/// A request to a set. `line` numbers the lines of that set: line number of the level = line * sets + set.
struct TraceEvent {
  std::uint32_t tag = 0; ///< when, within one execution of an innermost loop; see TraceTime
  Cause cause = Cause::load;
  bool writes = false;     ///< a store that is to be carried out here
  unsigned from = 0;       ///< of a write-back: log2 of the bytes that came
  std::uint32_t count = 1; ///< repetitions, one per iteration
  std::int64_t line = 0;
};

/// The fields of a tag, from the highest: iteration, number of the access in it, walk or demand, and two bits
/// per level that order the requests that one request causes there.
struct TraceTime {
  static constexpr std::uint32_t turns = 1 << 12, accesses = 1 << 5;
  static constexpr unsigned turn_shift = 20, access_shift = 15, levels = 7;
  static constexpr std::uint32_t turn = 1u << turn_shift, demand = 1u << (2 * levels);
};

/// The trace of a segment inside another one.
struct TraceChild {
  std::uint32_t at = 0; ///< index of the inner segment
  std::uint32_t id = 0;
  std::int64_t line = 0;   ///< of its first event
  std::uint32_t times = 1; ///< number of equal segments in a row
};

/// A trace at its place: `line` is that of its first event.
struct PlacedTrace {
  std::uint32_t id = 0;
  std::int64_t line = 0;
  bool operator==(const PlacedTrace&) const = default;
};

/// A trace is the sequence of the requests to one set, relative to the line of the first: of an innermost
/// segment the events, of others the traces of the segments inside. Equal traces are one and have one
/// number. Not thread-safe.
class SetTraces {
public:
  struct About {
    std::int64_t low = 0, high = 0; ///< hull of its lines, relative to the first
    std::uint64_t events = 0;
    bool leaf = true;
  };

  /// Both take lines as they are (at least one event or child, in order of time) and tell them relative to
  /// the first. A right guess is found sooner; children that are the same in a row become one.
  std::uint32_t leaf(std::span<const TraceEvent> events, std::uint32_t guess = 0);
  std::uint32_t branch(std::span<const TraceChild> children);

  [[nodiscard]] const About& about(std::uint32_t id) const { return about_[id]; }
  /// Its events or children.
  [[nodiscard]] std::size_t size(std::uint32_t id) const {
    const Interner::Words words = table_[id].words();
    return (words.size() - 1) / (words[0] == narrow ? 1 : words[0] == wide ? 3 : 2);
  }
  /// Both with `line` relative to the first.
  [[nodiscard]] TraceEvent event(std::uint32_t id, std::size_t i) const;
  [[nodiscard]] TraceChild child(std::uint32_t id, std::size_t i) const {
    const Interner::Words words = table_[id].words();
    if (words[0] == narrow) {
      const ChildWord c = ChildWord::unpack(words[i + 1]);
      return {c.at, c.id, c.line, c.times};
    }
    return {static_cast<std::uint32_t>(words[3 * i + 1] >> 32), static_cast<std::uint32_t>(words[3 * i + 1]),
            static_cast<std::int64_t>(words[3 * i + 2]), static_cast<std::uint32_t>(words[3 * i + 3])};
  }

  void clear() { *this = {}; }
  [[nodiscard]] std::size_t bytes() const;

private:
  std::uint32_t put(const About& about, std::uint32_t guess);

  /// The first word of a trace gives the format of the others: children of three words each, events of two
  /// words each (EventWord, line), or children of one ChildWord each.
  static constexpr std::uint64_t wide = 0, eventful = 1, narrow = 2;

  Interner table_;
  std::vector<About> about_;
  std::vector<std::uint64_t> words_;
  std::vector<TraceChild> children_;
};

} // namespace recount::model
