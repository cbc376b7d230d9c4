// Lines with a small mark each, in a hash table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace recount::model {

/// Lines with a mark from 0 to 6 each. Only put() grows the table, when it holds more lines than ever before;
/// sorted() copies it. Not thread-safe.
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
  /// Removes the line; returns its mark, or `none`.
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
  /// Moves later words of the probe sequence into the gap, so that they are still found (Knuth, volume
  /// 3, 6.4, algorithm R).
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

} // namespace recount::model
