// The hardware prefetchers of one level: what they watch, what they ask for, and what became of it.
#pragma once

#include "model/counts.hpp"
#include "model/machine.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace recount::model {

/// Lines with a mark from 0 to 6 each. Allocates only when it holds more lines than ever before.
/// Not thread-safe.
class LineMarks {
public:
  /// `line` below 2^61; nothing changes if it is there.
  void put(std::uint64_t line, unsigned mark) {
    if (2 * (size_ + 1) > words_.size()) grow();
    std::uint64_t& word = words_[place(line)];
    if (word != 0) return;
    word = line << mark_bits | (mark + 1);
    ++size_;
  }
  /// Takes the line out; its mark, or `none`.
  unsigned take(std::uint64_t line) {
    if (size_ == 0) return none;
    const std::size_t at = place(line);
    if (words_[at] == 0) return none;
    const auto mark = static_cast<unsigned>(words_[at] & mark_mask) - 1;
    close_up(at);
    --size_;
    return mark;
  }
  /// Calls each(line, mark), in the order of lines.
  template <class Each>
  void sorted(Each&& each) const {
    std::vector<std::uint64_t> all;
    std::ranges::copy_if(words_, std::back_inserter(all), [](std::uint64_t word) { return word != 0; });
    std::ranges::sort(all);
    for (const std::uint64_t word : all)
      each(word >> mark_bits, static_cast<unsigned>(word & mark_mask) - 1);
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  void clear() {
    std::ranges::fill(words_, 0);
    size_ = 0;
  }
  static constexpr unsigned none = ~0U;

private:
  static constexpr unsigned mark_bits = 3;
  static constexpr std::uint64_t mark_mask = (1U << mark_bits) - 1;

  [[nodiscard]] std::size_t mask() const { return words_.size() - 1; }
  [[nodiscard]] std::size_t home(std::uint64_t line) const {
    return (line * 0x9e3779b97f4a7c15u >> 32) & mask();
  }
  [[nodiscard]] std::size_t place(std::uint64_t line) const {
    std::size_t at = home(line);
    while (words_[at] != 0 && words_[at] >> mark_bits != line)
      at = (at + 1) & mask();
    return at;
  }
  /// Fills the gap with words behind it that would not be found across it (Knuth, volume 3, 6.4, algorithm
  /// R).
  void close_up(std::size_t gap) {
    for (std::size_t at = gap;;) {
      words_[gap] = 0;
      std::uint64_t word = 0;
      do {
        at = (at + 1) & mask();
        word = words_[at];
        if (word == 0) return;
      } while (((at - home(word >> mark_bits)) & mask()) < ((at - gap) & mask()));
      words_[gap] = word;
      gap = at;
    }
  }
  void grow() {
    std::vector<std::uint64_t> old(std::max<std::size_t>(64, 2 * words_.size()));
    std::swap(old, words_);
    for (const std::uint64_t word : old)
      if (word != 0) words_[place(word >> mark_bits)] = word;
  }

  std::vector<std::uint64_t> words_; ///< 0: empty
  std::size_t size_ = 0;
};

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
  /// A line was fetched for a prefetcher, was used by such a request, or was evicted.
  void fetched(Prefetch kind, std::uint64_t line) { unused_.put(line, static_cast<unsigned>(kind)); }
  void used(std::uint64_t line) { settle(line, &PrefetchCounts::useful); }
  void evicted(std::uint64_t line) { settle(line, &PrefetchCounts::useless); }

  /// As Level::save().
  void save(std::vector<std::uint64_t>& words) const;
  void clear();

  LevelPrefetchCounts counts;

private:
  struct Stream {
    std::uint64_t last = 0, ahead = 0;     ///< lines: accessed last, requested farthest
    std::int64_t direction = 0, steps = 1; ///< accesses in the direction, up to the trigger
  };
  static constexpr unsigned page_shift = 12; ///< no prefetcher leaves 4096 bytes

  [[nodiscard]] std::uint64_t page(std::uint64_t line) const { return line << shift_ >> page_shift; }
  /// The stream of the line's page, from now on the most recently used; a new one begins at the line.
  Stream& stream(const Prefetcher& by, std::uint64_t line) {
    if (latest_ >= streams_.size() || pages_[latest_] != page(line)) latest_ = find(by, line);
    return streams_[latest_];
  }
  std::size_t find(const Prefetcher& by, std::uint64_t line);
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
  void settle(std::uint64_t line, std::int64_t PrefetchCounts::*count) {
    if (const unsigned kind = unused_.take(line); kind != LineMarks::none) ++(counts[kind].*count);
  }

  std::vector<Prefetcher> described_;
  unsigned shift_;
  std::vector<Stream> streams_;
  std::vector<std::uint64_t> pages_, used_; ///< of the streams: their page, the number of their last use
  std::uint64_t uses_ = 0;                  ///< of streams
  std::size_t latest_ = 0;                  ///< stream, the most recently used
  LineMarks unused_;                        ///< prefetched lines that the level holds, with their Prefetch
};

} // namespace recount::model
