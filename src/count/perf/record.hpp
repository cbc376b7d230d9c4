// Parser of ring-buffer records (perf_event_open(2), "MMAP layout"). Pure; accepts any bytes.
#pragma once

#include "count/perf/owner.hpp"

#include <recount/sampling.hpp>

#include <linux/perf_event.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace recount::perf {

/// Nothing if the line is invalid; the file name is a view into it, "//anon" where there is none.
[[nodiscard]] std::optional<Mapping> parse_maps_line(std::string_view line);

/// What the records of an event hold, from its perf_event_attr.
struct RecordFormat {
  std::uint64_t sample_type = 0;
  std::uint64_t read_format = 0;
  std::uint64_t user_registers = 0;
  std::uint64_t branch_type = 0; ///< branch_sample_type
};

/// The fields of a sample that decode() knows; a sample_type with others that precede one of them makes every
/// sample damaged.
inline constexpr std::uint64_t known_fields =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
    PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ |
    PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
    PERF_SAMPLE_STACK_USER;
/// Fields behind all known ones, which decode() skips.
inline constexpr std::uint64_t skipped_fields =
    PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR |
    PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_AUX | PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE |
    PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_WEIGHT_STRUCT;

struct Decoded {
  Record record;
  std::uint64_t id = 0;                 ///< the kernel's id of the event (PERF_SAMPLE_IDENTIFIER or _ID)
  std::span<const std::uint64_t> group; ///< of a sample with PERF_SAMPLE_READ: the words of the reading
};

enum class Understood {
  yes,
  other, ///< a well-formed record of another type
  no     ///< inconsistent lengths
};

/// Parses a record, header included; `into` holds views of `words`. Without sample_id_all (a
/// sample_type of 0) records other than samples have no time and no id.
[[nodiscard]] Understood decode(std::span<const std::uint64_t> words, const RecordFormat& format,
                                Decoded& into);

/// The id of the event that made a record (PERF_SAMPLE_IDENTIFIER, which all of a ring must have) without
/// knowing its format; 0 when it is too short.
[[nodiscard]] std::uint64_t id_of(std::span<const std::uint64_t> words) noexcept;
/// The time of a record without parsing the rest; 0 if it has none.
[[nodiscard]] std::uint64_t time_of(std::span<const std::uint64_t> words, std::uint64_t sample_type) noexcept;

// A ring buffer of the kernel, mapped, and the records in it.

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
  [[nodiscard]] bool full() const noexcept { return min_free_ < largest_ * sizeof(std::uint64_t); }

private:
  void skip_to_head() noexcept;
  static constexpr std::size_t most = 0x10000 / sizeof(std::uint64_t); // a record's size has 16 bits

  std::span<const std::uint64_t> data_;
  std::uint64_t head_ = 0, tail_ = 0, damaged_ = 0, min_free_ = ~std::uint64_t{0};
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
