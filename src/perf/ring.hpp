// A ring buffer of the kernel, mapped, and the records in it.
#pragma once

#include "perf/owner.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <linux/perf_event.h>
#include <memory>
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

/// The ring of one event, shared with others by (PERF_EVENT_IOC_SET_OUTPUT). Reading is
/// async-signal-safe. Does nothing in a forked child, which does not have the mapping. Not thread-safe.
class Ring {
public:
  /// Maps `bytes` (a power of two of pages) and the page before it. On failure usable() is false and error()
  /// is the errno.
  Ring(int fd, std::size_t bytes);
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring();
  [[nodiscard]] int error() const noexcept { return error_; }

  void look() noexcept;    ///< reads the head of the kernel
  void release() noexcept; ///< returns the space of dropped records to the kernel
  [[nodiscard]] RingCursor& records() noexcept { return cursor_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
  [[nodiscard]] void* map(int fd);
  std::size_t bytes_;
  int error_ = 0;
  perf_event_mmap_page* page_;
  RingCursor cursor_;
  Owner owner_;
};

/// The size of the ring that suits a machine, see SamplingOptions::buffer: `wanted` or a part of 64 MiB for
/// each of `rings`, a power of two of pages.
[[nodiscard]] std::size_t ring_bytes(std::size_t wanted, std::size_t rings);

/// Maps a ring of that size, or of the half, the quarter and so on where the user may not lock so much in
/// memory. Null with `error` set when not even two pages can be had.
[[nodiscard]] std::unique_ptr<Ring> map_ring(int fd, std::size_t bytes, int& error);

} // namespace recount::perf
