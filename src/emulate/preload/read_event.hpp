// read(2) of events.
#pragma once

#include "emulate/slot.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace recount::emulate {

/// Words of a read or a sample, as many as a group of all events has. Nothing is allocated: handlers of
/// signals may read events, and samples are due within malloc(). Too large for the stack of a handler: one
/// for each use, under the lock of the slots.
class Words {
public:
  void clear() { count_ = 0; }
  void push_back(std::uint64_t word) {
    if (count_ < words_.size()) words_[count_++] = word;
  }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] const std::uint64_t* data() const { return words_.data(); }
  [[nodiscard]] std::uint64_t& operator[](std::size_t i) { return words_[i]; }
  [[nodiscard]] std::uint64_t operator[](std::size_t i) const { return words_[i]; }

private:
  static constexpr std::size_t of_event = 3, besides = 64;
  std::array<std::uint64_t, of_event * most_slots + besides> words_{};
  std::size_t count_ = 0;
};

/// What Linux has read of the backing events, turned into what the simulated ones have counted. Returns the
/// bytes to be returned.
[[nodiscard]] ssize_t translate(std::int32_t slot, void* data, ssize_t bytes);

/// read(2) where no event of Linux is behind a simulated one.
[[nodiscard]] ssize_t read_unbacked(std::int32_t slot, void* to, std::size_t bytes);

/// The same words of a simulated event of this thread without a call, for a sample that reads.
void append_read(const Shared& shared, const Slot& slot, std::uint64_t format, Words& words);

} // namespace recount::emulate
