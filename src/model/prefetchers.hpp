// The hardware prefetchers of one level: what they watch, what they ask for, and what became of it.
#pragma once

#include "model/counts.hpp"
#include "model/line_marks.hpp"
#include "model/machine.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace recount::model {

/// Decides which lines to fetch; the caller fetches them. Lines are line numbers. Not thread-safe.
class Prefetchers {
public:
  Prefetchers(const std::vector<Prefetcher>& described, unsigned line_shift);

  [[nodiscard]] bool none() const { return described_.empty(); }
  /// A load, store, fetch of instructions, walk or a prefetcher of the level above asked the level for a
  /// line, which then was there or was brought in. Calls fetch(kind, line) for each line that a prefetcher
  /// asks for, in order.
  template <class Fetch>
  void watch(std::uint64_t line, Cause cause, bool missed, Fetch&& fetch) {
    for (const Prefetcher& by : described_) {
      if (cause == Cause::walk && by.kind != Prefetch::adjacent_line) continue;
      if (by.kind == Prefetch::streamer) {
        follow(by, line, fetch);
      } else if (missed) {
        const std::uint64_t other = by.kind == Prefetch::next_line ? line + 1 : line ^ 1;
        if (page(other) == page(line)) fetch(by.kind, other);
      }
    }
  }
  /// A line was brought in for a prefetcher, was used by such a request, or left the level.
  void brought(Prefetch kind, std::uint64_t line) { unused_.put(line, static_cast<unsigned>(kind)); }
  void used(std::uint64_t line) { settle(line, &PrefetchCounts::useful); }
  void left(std::uint64_t line) { settle(line, &PrefetchCounts::useless); }

  /// As of Level.
  void save(std::vector<std::uint64_t>& words) const;
  [[nodiscard]] bool same(std::span<const std::uint64_t>& words) const;
  void restore(std::span<const std::uint64_t>& words);
  void clear();

  LevelPrefetchCounts counts;

private:
  struct Stream {
    std::uint64_t last = 0, ahead = 0;     ///< lines: accessed last, asked for farthest
    std::int64_t direction = 0, steps = 1; ///< accesses in the direction, up to the trigger
  };
  static constexpr unsigned page_shift = 12; ///< no prefetcher leaves 4096 bytes

  static constexpr std::size_t none_yet = ~std::size_t{0};

  [[nodiscard]] std::uint64_t page(std::uint64_t line) const { return line << shift_ >> page_shift; }
  /// The stream of the line's page, from now on the most recently used; a new one begins at the line.
  Stream& stream(const Prefetcher& by, std::uint64_t line) {
    if (latest_ >= pages_.size() || pages_[latest_] != page(line)) latest_ = found(by, line);
    return streams_[latest_];
  }
  std::size_t found(const Prefetcher& by, std::uint64_t line);
  /// Most recently used first.
  template <class Fetch>
  void follow(const Prefetcher& by, std::uint64_t line, Fetch&& fetch) {
    Stream& s = stream(by, line);
    if (s.last == line) return;
    const std::int64_t direction = line > s.last ? 1 : -1;
    s.steps = direction == s.direction ? s.steps + 1 : 2;
    if (direction != s.direction) s.ahead = line;
    s.direction = direction;
    s.last = line;
    if (s.steps < by.trigger) return;
    s.steps = by.trigger; // further ones make no difference
    const auto ahead = [&](std::uint64_t x) { return static_cast<std::int64_t>(x - line) * s.direction; };
    if (ahead(s.ahead) < 0) s.ahead = line;
    for (std::int64_t i = 0; i < by.degree; ++i) {
      const std::uint64_t next = s.ahead + static_cast<std::uint64_t>(s.direction);
      if (ahead(next) > by.distance || page(next) != page(line)) return;
      s.ahead = next;
      fetch(by.kind, next);
    }
  }
  [[nodiscard]] std::vector<std::size_t> by_use() const;
  void settle(std::uint64_t line, std::int64_t PrefetchCounts::*as) {
    if (const unsigned kind = unused_.take(line); kind != LineMarks::none) ++(counts[kind].*as);
  }

  std::vector<Prefetcher> described_;
  unsigned shift_;
  std::vector<Stream> streams_;
  std::vector<std::uint64_t> pages_, turns_; ///< of the streams: their page, when they were used last
  std::uint64_t turn_ = 0;                   ///< of streams
  std::size_t latest_ = none_yet;            ///< stream, the most recently used
  LineMarks unused_;                         ///< prefetched lines that the level holds, with their Prefetch
};

} // namespace recount::model
