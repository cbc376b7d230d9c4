// One set of a level: what requests do to it, and what they make it ask of the level below.
#pragma once

#include "model/accelerated/set_trace.hpp"
#include "model/level.hpp"
#include "model/machine.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace recount::model {

/// The entries of a set at one moment, in order; takes no memory where they are few.
class SetEntries {
public:
  explicit SetEntries(std::size_t ways) : many_(ways > few_.size() ? ways : 0), ways_(ways) {}
  SetEntries(const Level& level, std::size_t ways) : SetEntries(ways) { level.read(0, all()); }

  [[nodiscard]] std::span<Level::Entry> all() {
    return (many_.empty() ? std::span(few_) : std::span(many_)).first(ways_);
  }
  [[nodiscard]] std::span<const Level::Entry> all() const {
    return (many_.empty() ? std::span(few_) : std::span<const Level::Entry>(many_)).first(ways_);
  }

private:
  std::array<Level::Entry, 16> few_;
  std::vector<Level::Entry> many_;
  std::size_t ways_;
};

/// What a level does, apart from how many sets it has.
struct SetRules {
  std::uint64_t ways = 1;
  Policy policy = Policy::lru;
  Write write = Write::back;
  bool allocate = true;
  unsigned shift = 6; ///< log2 of a line's bytes
};

/// The fields of LevelCounts in their order, then requests to memory by cause.
using SetCounts = std::array<std::int64_t, LevelCounts::size + causes>;

/// A set under the rules of Hierarchy, for levels that are neither inclusive nor exclusive and do not
/// prefetch. Lines are those of TraceEvent. Not thread-safe.
class OneSet {
public:
  explicit OneSet(const SetRules& rules)
      : rules_(rules), level_(SetIndex(1), rules.ways, 1, rules.policy, 0) {}

  [[nodiscard]] Level& level() { return level_; }
  SetCounts counts{};

  /// Carries out the first of `count` equal requests, and with it those that it decides; returns how many are
  /// done. Calls emit(which, request, line) for what goes to the level below: `which` orders (0 to 2) what
  /// one request causes; tag and line of `request` are not set.
  template <class Emit>
  std::uint32_t take(const TraceEvent& e, std::uint32_t count, Emit&& emit) {
    return e.cause == Cause::write_back ? put(e, emit) : request(e, count, emit);
  }

private:
  static TraceEvent ask(Cause cause, bool writes, std::uint32_t count = 1) {
    TraceEvent e;
    e.cause = cause;
    e.writes = writes;
    e.count = count;
    return e;
  }

  template <class Emit>
  std::uint32_t request(const TraceEvent& e, std::uint32_t count, Emit&& emit) {
    const bool back = rules_.write == Write::back;
    const auto line = static_cast<std::uint64_t>(e.line);
    if (level_.use(line, e.writes && back)) {
      counts[number(e.cause)] += count; // another of the same changes nothing
      if (e.writes && !back) emit(0, ask(e.cause, true, count), e.line);
      return count;
    }
    ++counts[number(e.cause)];
    ++counts[causes + number(e.cause)];
    if (e.writes && !rules_.allocate) {
      emit(0, ask(e.cause, true), e.line);
      return 1;
    }
    emit(0, ask(e.cause, false), e.line);
    fill(line, e.writes && back, emit);
    if (e.writes && !back) emit(2, ask(e.cause, true), e.line);
    return 1;
  }

  template <class Emit>
  std::uint32_t put(const TraceEvent& e, Emit&& emit) {
    const bool back = rules_.write == Write::back;
    const auto line = static_cast<std::uint64_t>(e.line);
    TraceEvent passed = ask(Cause::write_back, false);
    passed.from = e.from;
    ++counts[number(e.cause)];
    if (!level_.use(line, back)) {
      ++counts[causes + number(e.cause)];
      if (!rules_.allocate) {
        emit(0, passed, e.line);
        return 1;
      }
      if (e.from < rules_.shift) emit(0, ask(Cause::refill, false), e.line);
      fill(line, back, emit);
    }
    if (!back) emit(2, passed, e.line);
    return 1;
  }

  template <class Emit>
  void fill(std::uint64_t line, bool dirty, Emit&& emit) {
    const Level::Entry leaves = level_.insert(line, dirty);
    if (leaves == Level::empty) return;
    ++counts[2 * causes];
    if ((leaves & 1) == 0) return;
    ++counts[2 * causes + 1];
    TraceEvent e = ask(Cause::write_back, false);
    e.from = rules_.shift;
    emit(1, e, static_cast<std::int64_t>(leaves >> 1));
  }

  SetRules rules_;
  Level level_;
};

} // namespace recount::model
