// What one set is asked for in a stretch of a nest, shared wherever it happens alike.
#pragma once

#include "model/accelerated/interner.hpp"
#include "model/counts.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace recount::model {

/// A request to a set. `line` counts the lines of that set: line number of the level = line * sets + set.
struct StrandEvent {
  std::uint32_t tag = 0; ///< when, within one execution of an innermost loop; see StrandTime
  Cause cause = Cause::load;
  bool writes = false;     ///< a store that is to be carried out here
  unsigned from = 0;       ///< of a write-back: log2 of the bytes that came
  std::uint32_t count = 1; ///< so many times, in as many turns
  std::int64_t line = 0;
};

/// The fields of a tag, from the highest: turn, number of the access in the turn, walk or demand, and two
/// bits for each level that tell apart what one request makes the level ask.
struct StrandTime {
  static constexpr std::uint32_t turns = 1 << 12, accesses = 1 << 5;
  static constexpr unsigned turn_shift = 20, access_shift = 15, levels = 7;
  static constexpr std::uint32_t turn = 1u << turn_shift, demand = 1u << (2 * levels);
};

/// Where a stretch inside another one begins, and what happens there.
struct StrandChild {
  std::uint32_t at = 0; ///< which of the stretches inside
  std::uint32_t id = 0;
  std::int64_t line = 0;   ///< of its first event
  std::uint32_t times = 1; ///< so many stretches in a row, all the same
};

/// A strand at its place: `line` is that of its first event.
struct StrandAt {
  std::uint32_t id = 0;
  std::int64_t line = 0;
  bool operator==(const StrandAt&) const = default;
};

/// A strand is the sequence of one set's requests, told relative to the line of the first: of an innermost
/// stretch the events, of others the strands of the stretches inside. Equal strands are one and have one
/// number. Not thread-safe.
class Strands {
public:
  struct About {
    std::int64_t low = 0, high = 0; ///< hull of its lines, relative to the first
    std::uint64_t events = 0;
    bool leaf = true;
  };

  /// Both take lines as they are (at least one event or child, in order of time) and tell them relative to
  /// the first. A right guess is found sooner; children that are the same in a row become one.
  std::uint32_t leaf(std::span<const StrandEvent> events, std::uint32_t guess = 0);
  std::uint32_t branch(std::span<const StrandChild> children);

  [[nodiscard]] const About& about(std::uint32_t id) const { return about_[id]; }
  /// Its events or children.
  [[nodiscard]] std::size_t size(std::uint32_t id) const {
    const Interner::Words words = table_[id].words();
    return (words.size() - 1) / (words[0] == narrow ? 1 : words[0] == wide ? 3 : 2);
  }
  /// Both with `line` relative to the first.
  [[nodiscard]] StrandEvent event(std::uint32_t id, std::size_t i) const;
  [[nodiscard]] StrandChild child(std::uint32_t id, std::size_t i) const {
    const Interner::Words words = table_[id].words();
    if (words[0] == narrow) {
      const std::uint64_t word = words[i + 1];
      return {static_cast<std::uint32_t>(word >> 32 & 0x3f), static_cast<std::uint32_t>(word),
              static_cast<std::int64_t>(word) >> 44, static_cast<std::uint32_t>(word >> 38 & 0x3f)};
    }
    return {static_cast<std::uint32_t>(words[3 * i + 1] >> 32), static_cast<std::uint32_t>(words[3 * i + 1]),
            static_cast<std::int64_t>(words[3 * i + 2]), static_cast<std::uint32_t>(words[3 * i + 3])};
  }

  /// An event of a row.
  struct Timed {
    std::uint64_t time = 0; ///< in which of the stretches inside one another (8 bits each), then the tag
    StrandEvent event;
  };
  /// All events of a strand, `line` relative to the first. None when stretches lie too deep for that, or are
  /// too many: then no strand of the same stretch has a row. Their times compare.
  [[nodiscard]] std::optional<std::span<const Timed>> row(std::uint32_t id);

  [[nodiscard]] std::size_t bytes() const;

private:
  std::uint32_t put(const About& about, std::uint32_t guess);
  bool lay_out(std::uint32_t id, std::int64_t line, std::uint64_t path, unsigned depth);

  /// What the first word of a strand says of the others: children of two words each, events of two words
  /// each, or children that fit in one: line (24 bits), number (8), id (32).
  static constexpr std::uint64_t wide = 0, eventful = 1, narrow = 2;

  Interner table_;
  std::vector<About> about_;
  std::vector<std::uint64_t> words_;
  std::vector<StrandChild> children_;
  std::vector<std::unique_ptr<std::vector<Timed>>> rows_; ///< by id, made when asked for
  std::size_t row_bytes_ = 0;
  std::vector<Timed> row_;
};

} // namespace recount::model
