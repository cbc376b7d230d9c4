// Layout of read(2) for a group, as named offsets. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace recount::perf {

/// One event's words.
struct Raw {
  std::uint64_t value = 0, lost = 0;
};
/// A group's words that are not an event's.
struct Times {
  std::uint64_t enabled = 0, running = 0;
};

/// Offsets in 64-bit words, under a read_format with PERF_FORMAT_GROUP (perf_event_open(2)).
class Layout {
public:
  explicit Layout(std::uint64_t read_format = 0) noexcept;
  /// Number of words of a group of `events`.
  [[nodiscard]] std::size_t words(std::size_t events) const noexcept { return header_ + events * stride_; }
  /// Sorts what was read into `out`, which is in the order of `ids`: the kernel's own order may differ.
  /// Without PERF_FORMAT_ID it is taken in the order of opening. False when the words are not those of
  /// this group.
  [[nodiscard]] bool take(std::span<const std::uint64_t> words, std::span<const std::uint64_t> ids,
                          Times& times, std::span<Raw> out) const noexcept;

  /// Whether these words, as many as words(ids.size()), are those of the group, in the order of `ids`.
  [[nodiscard]] bool in_order(const std::uint64_t* words, std::span<const std::uint64_t> ids) const noexcept {
    if (words[0] != ids.size()) return false;
    if (id_ == none) return true;
    const std::uint64_t* event = words + header_ + id_;
    for (const std::uint64_t id : ids) {
      if (*event != id) return false;
      event += stride_;
    }
    return true;
  }
  /// Puts the events' words into the order of `ids`. False when they are not those of this group.
  [[nodiscard]] bool put_in_order(std::span<std::uint64_t> words, std::span<const std::uint64_t> ids) const;

  // Offsets for a read_format with both times.
  [[nodiscard]] std::size_t enabled() const noexcept { return enabled_; }
  [[nodiscard]] std::size_t running() const noexcept { return running_; }
  [[nodiscard]] std::size_t value(std::size_t event) const noexcept { return header_ + event * stride_; }
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }
  /// Beside the value; meaningless without has_lost().
  [[nodiscard]] std::size_t lost() const noexcept { return lost_; }
  [[nodiscard]] bool has_lost() const noexcept { return lost_ != none; }

private:
  static constexpr std::size_t none = 0; // word 0 is the number of events, never one of these fields
  std::size_t enabled_ = none, running_ = none, header_ = 1;
  std::size_t id_ = none, lost_ = none, stride_ = 1; // within an event's words, whose first is the value
};

} // namespace recount::perf
