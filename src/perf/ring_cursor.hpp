// Walking over the records of a ring buffer. Pure: over any words, with any head.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace recount::perf {

/// Steps from record to record between tail and head. A record that wraps around the end of the data is put
/// together in a buffer of the cursor's own; all others are seen where they lie. Allocates nothing;
/// async-signal-safe. Not copyable, since records may lie inside.
class RingCursor {
public:
  /// `data`: a power of two of words.
  explicit RingCursor(std::span<const std::uint64_t> data) : data_(data) {}
  RingCursor(const RingCursor&) = delete;
  RingCursor& operator=(const RingCursor&) = delete;

  /// Takes note of how far the writer got, in bytes since the beginning of time.
  void set_head(std::uint64_t head) noexcept;
  /// The record at the tail, header included; empty when there is none. The same until drop().
  [[nodiscard]] std::span<const std::uint64_t> front() noexcept;
  /// Goes past the record that front() gave.
  void drop() noexcept;
  /// Bytes that were read since the beginning of time: what the writer may overwrite.
  [[nodiscard]] std::uint64_t tail() const noexcept { return tail_; }
  /// Times that a record's length, or the head, made no sense; everything up to the head was skipped then.
  [[nodiscard]] std::uint64_t damaged() const noexcept { return damaged_; }
  /// Whether ever so little was free that the largest record seen would not have found room.
  [[nodiscard]] bool full() const noexcept { return least_free_ < largest_ * sizeof(std::uint64_t); }

private:
  void skip_to_head() noexcept;
  static constexpr std::size_t most = 0x10000 / sizeof(std::uint64_t); // a record's size has 16 bits

  std::span<const std::uint64_t> data_;
  std::uint64_t head_ = 0, tail_ = 0, damaged_ = 0, least_free_ = ~std::uint64_t{0};
  std::size_t front_ = 0; ///< words of the record at the tail; 0: not looked at yet
  std::size_t largest_ = 0;
  std::array<std::uint64_t, most> joined_; ///< not initialised: written before it is read
};

} // namespace recount::perf
