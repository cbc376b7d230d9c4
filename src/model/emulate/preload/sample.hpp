// Samples of simulated events of this process: records in their rings, and signals.
#pragma once

#include "model/emulate/slot.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace recount::emulate {
/// Code that is executing, for the addresses of samples.
struct CodeRange {
  std::uint64_t start = 0, bytes = 1;
};
extern thread_local CodeRange executing;
/// What samples outside of known code tell.
extern std::uint64_t unknown_code;

/// Where the thread executes that a sample interrupts; 0: known by `executing`.
extern thread_local std::uint64_t sampled_at;

/// How an event of this process signals: as requested by fcntl(2).
struct Sampler {
  int fd = -1;
  int signal = 0;         ///< by F_SETSIG; 0: SIGIO
  bool async = false;     ///< O_ASYNC
  pid_t owner = 0;        ///< thread that is signalled
  std::int64_t limit = 0; ///< overflows left until the event stops, by PERF_EVENT_IOC_REFRESH; 0: no limit
};
[[nodiscard]] Sampler& sampler(std::int32_t slot);

/// The events that a period has ended for, under the lock; signals are sent when it has been given back.
class Overflows {
public:
  /// Takes every sample that is due.
  void take(const Shared& shared, Slot& slot, std::int32_t index);
  /// `context`: of the handler of a signal, whose thread gets its own signals at once, as if they had come
  /// in its place; nullptr: through Linux.
  void deliver(void* context = nullptr);

private:
  struct Signal {
    int number, fd, code;
    pid_t to;
  };
  /// Without allocation, as for Words. Linux drops signals, too, when too many are pending.
  template <class T>
  struct Few {
    void push_back(T one) {
      if (count < all.size()) all[count++] = one;
    }
    std::array<T, 64> all{};
    std::size_t count = 0;
  };
  Few<Signal> signals_;
  Few<int> stopped_; ///< descriptors of events whose limit is reached
};

/// Whether a ring of this process has records that were not read: of the slot, or redirected to it.
[[nodiscard]] bool has_records(std::int32_t slot);

/// fcntl(2) of an event: remembers how it is to signal.
void note_control(std::int32_t slot, int command, unsigned long argument);

// read(2) of events.

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
  std::array<std::uint64_t, of_event * max_slots + besides> words_{};
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
