// The words in which traces, states of a set and outcomes are kept: named fields, packed into 32 or 64 bits.
#pragma once

#include "model/counts.hpp"

#include <cstdint>

namespace recount::model {

/// A way of the set in a state or an outcome, in 32 bits.
struct EntryWord {
  static constexpr std::uint32_t foreign = 62, vacant = 63; ///< in place of a slot
  static constexpr std::int64_t reach = std::int64_t{1} << 24;

  std::uint32_t slot = 0; ///< below 64: Slots::Slot of the line, `foreign` or `vacant`
  bool dirty = false;
  /// Within reach: of the line from the anchor of its slot; of a foreign line in an outcome the way that held
  /// it before, in a state 0.
  std::int64_t distance = 0;

  [[nodiscard]] std::uint32_t pack() const {
    return slot << 26 | std::uint32_t{dirty} << 25 | (static_cast<std::uint32_t>(distance) & 0x1ffffff);
  }
  [[nodiscard]] static EntryWord unpack(std::uint32_t word) {
    return {word >> 26, (word >> 25 & 1) != 0, static_cast<std::int32_t>(word << 7) >> 7};
  }
};

/// A trace in a state. A distance other than 0 follows in a word of its own.
struct TraceWord {
  std::uint32_t id = 0, slot = 0;
  bool moved = false; ///< its first line is not the anchor of the slot

  [[nodiscard]] std::uint64_t pack() const {
    return id | std::uint64_t{slot} << 32 | std::uint64_t{moved} << 40;
  }
};

/// The first word of an outcome.
struct OutcomeWord {
  std::uint32_t counts = 0, pieces = 0; ///< numbers of words of these kinds

  [[nodiscard]] std::uint64_t pack() const { return std::uint64_t{pieces} << 32 | counts; }
  [[nodiscard]] static OutcomeWord unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
  }
};

/// A counter that an outcome increases.
struct CountWord {
  std::uint64_t counter = 0; ///< index in SetCounts
  std::int64_t by = 0;       ///< 0 to 2^56 - 1

  [[nodiscard]] std::uint64_t pack() const { return counter << 56 | static_cast<std::uint64_t>(by); }
  [[nodiscard]] static CountWord unpack(std::uint64_t word) {
    return {word >> 56, static_cast<std::int64_t>(word & ((std::uint64_t{1} << 56) - 1))};
  }
};

/// A trace that an outcome sends to the level below.
struct PieceWord {
  std::uint32_t id = 0, slot = 0; ///< slot as in EntryWord, never vacant
  std::int64_t distance = 0;      ///< as in EntryWord, 26 bits

  [[nodiscard]] std::uint64_t pack() const {
    return static_cast<std::uint64_t>(distance) << 38 | std::uint64_t{slot} << 32 | id;
  }
  [[nodiscard]] static PieceWord unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32 & 63),
            static_cast<std::int64_t>(word) >> 38};
  }
};

/// An event of a trace without its line, which follows in a word of its own.
struct EventWord {
  std::uint32_t tag = 0;
  Cause cause = Cause::load;
  bool writes = false;
  unsigned from = 0;       ///< below 64
  std::uint32_t count = 1; ///< below 2^22

  [[nodiscard]] std::uint64_t pack() const {
    return std::uint64_t{tag} << 32 | static_cast<std::uint64_t>(cause) << 29 | std::uint64_t{writes} << 28 |
           std::uint64_t{from} << 22 | count;
  }
  [[nodiscard]] static EventWord unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<Cause>(word >> 29 & 7), (word >> 28 & 1) != 0,
            static_cast<unsigned>(word >> 22 & 63), static_cast<std::uint32_t>(word & 0x3fffff)};
  }
};

/// A child of a trace in one word, where it fits.
struct ChildWord {
  static constexpr std::int64_t reach = std::int64_t{1} << 19; ///< lines from -reach to reach - 1
  static constexpr std::uint32_t most = 0x3f;                  ///< of `at` and `times`

  std::uint32_t at = 0, id = 0;
  std::int64_t line = 0;
  std::uint32_t times = 1;

  [[nodiscard]] std::uint64_t pack() const {
    return static_cast<std::uint64_t>(line) << 44 | std::uint64_t{times} << 38 | std::uint64_t{at} << 32 | id;
  }
  [[nodiscard]] static ChildWord unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 32 & most), static_cast<std::uint32_t>(word),
            static_cast<std::int64_t>(word) >> 44, static_cast<std::uint32_t>(word >> 38 & most)};
  }
};

} // namespace recount::model
