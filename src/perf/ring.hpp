// A ring buffer of the kernel, mapped.
#pragma once

#include "perf/owner.hpp"
#include "perf/ring_cursor.hpp"

#include <linux/perf_event.h>

#include <cstddef>
#include <memory>

namespace recount::perf {

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
