// The traces of a nest: what each set of the first level is asked for.
#pragma once

#include "model/accelerated/program.hpp"
#include "model/accelerated/set_trace.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace recount::model {

/// Divides a program's accesses among the sets of a level, an array at a time. Segments whose addresses lie
/// alike relative to the set are looked at once. Not thread-safe; keeps references to both.
class Source {
public:
  /// For a level of `sets` sets of lines of 2^shift bytes; every access must lie within one line. Demand:
  /// events come after those of the same access that are not.
  Source(const Program& program, SetTraces& traces, std::int64_t sets, unsigned shift, bool demand);

  /// The traces of set number `set`, one for each array that meets it, appended to `all`.
  void traces(std::int64_t set, std::vector<PlacedTrace>& all);

  [[nodiscard]] std::size_t bytes() const;

private:
  static constexpr std::size_t most_streams = 8;
  struct Key {
    std::array<std::uint64_t, 3 + nest_depth + 2 * most_streams> words;
    std::size_t size = 0;
    void add(std::uint64_t word) { words[size++] = word; }
    [[nodiscard]] Interner::Words span() const { return {words.data(), size}; }
  };
  enum class KeyKind { untouched, none, complete };
  using Found = std::optional<PlacedTrace>;

  Found sequence(const std::vector<Step>& steps);
  Found loop(const Step& step);
  Found segment(const Step& step, unsigned level, std::int64_t first, std::int64_t turn, std::int64_t turns);
  Found inside(const Step& step, unsigned level, std::int64_t first, std::int64_t turn, std::int64_t turns);
  Found leaf(const Step& step, std::int64_t turns);
  void meet(const LeafAccess& access, std::uint32_t number, std::int64_t turns, bool alone);
  Found branch(const std::vector<TraceChild>& children);
  KeyKind make_key(const Step& step, std::int64_t turns, Key& key, std::int64_t& row) const;

  const Program& program_;
  SetTraces& traces_;
  std::int64_t sets_, line_, pitch_;
  std::uint32_t phase_;
  unsigned array_ = 0;
  std::int64_t set_ = 0;
  Environment variables_{};
  std::vector<TraceEvent> events_;

  Interner known_;                 ///< aside: 1 for no trace, or 2 + the number in found_
  std::vector<PlacedTrace> found_; ///< lines relative to the first stream's row
};

} // namespace recount::model
