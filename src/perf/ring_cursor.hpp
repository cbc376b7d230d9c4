// Iterates over the records of a ring buffer. Pure: accepts any words and any head.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace recount::perf {

/// Steps from record to record between tail and head. A record that wraps around the end of the data is
/// copied into a buffer of the cursor; all others are views into the ring. Allocates nothing;
/// async-signal-safe. Not copyable, since records may lie inside.
class RingCursor {
public:
  /// `data`: a power of two of words.
  explicit RingCursor(std::span<const std::uint64_t> data) : data_(data) {}
  RingCursor(const RingCursor&) = delete;
  RingCursor& operator=(const RingCursor&) = delete;

  /// Sets the position of the writer, in bytes since the start.
  void set_head(std::uint64_t head) noexcept;
  /// The record at the tail, header included; empty when there is none. The same until drop().
  [[nodiscard]] std::span<const std::uint64_t> front() noexcept;
  /// Skips the record returned by front().
  void drop() noexcept;
  /// Bytes read since the start: what the writer may overwrite.
  [[nodiscard]] std::uint64_t tail() const noexcept { return tail_; }
  /// Number of invalid record lengths or heads; each time everything up to the head was skipped.
  [[nodiscard]] std::uint64_t damaged() const noexcept { return damaged_; }
  /// Whether the free space was ever too small for the largest record seen.
  [[nodiscard]] bool full() const noexcept { return least_free_ < largest_ * sizeof(std::uint64_t); }

private:
  void skip_to_head() noexcept;
  static constexpr std::size_t most = 0x10000 / sizeof(std::uint64_t); // a record's size has 16 bits

  std::span<const std::uint64_t> data_;
  std::uint64_t head_ = 0, tail_ = 0, damaged_ = 0, least_free_ = ~std::uint64_t{0};
  std::size_t front_ = 0; ///< words of the record at the tail; 0: unknown yet
  std::size_t largest_ = 0;
  std::array<std::uint64_t, most> joined_; ///< not initialised: written before it is read
};

} // namespace recount::perf
