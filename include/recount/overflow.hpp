// Overflow: a call every N occurrences of an event, from a signal handler or from a thread of the library.
#pragma once

#include <recount/sampling.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <sys/types.h>
#include <sys/ucontext.h>
#include <vector>

namespace recount {

/// An event and after how many occurrences to call.
struct OverflowEvent {
  Event event;
  std::uint64_t threshold = 0;
};

/// One event's part in an overflow.
struct Overflowed {
  std::size_t event = 0;   ///< index into the events of the Overflow
  std::uint64_t times = 1; ///< how many thresholds were passed; more than 1 only when emulated
  std::uint64_t excess =
      0; ///< occurrences beyond the last of them (emulated; else 0: the call is about that one)
};

/// What a callback learns. Valid during the call.
struct OverflowCall {
  std::uint64_t address = 0;              ///< where the program was at the overflow
  std::uint64_t data_address = 0;         ///< of the data concerned, see Sample::address
  std::uint64_t events = 0;               ///< bit i: event i overflowed (the first 64 events)
  std::span<const Overflowed> overflowed; ///< the same with numbers, at least one
  bool emulated =
      false; ///< a timer looked: it may come late, and `address` is where the timer found the program
  std::uint32_t pid = 0, tid = 0;
  /// The machine as the signal interrupted it, to look at and to change; where stop() makes the call, that of
  /// stop(), and changes have no effect; null when called from a thread.
  ucontext_t* context = nullptr;
  std::span<const std::uint64_t> registers; ///< from a thread: see OverflowOptions::registers
};
using OverflowCallback = std::function<void(const OverflowCall&)>;

enum class Delivery {
  /// In a signal handler of the thread that counts, which is the one that made the Overflow, at once; while
  /// that
  /// thread blocks the signal, when it unblocks it or calls stop(). Only what signal-safety(7) lists may be
  /// called: no allocation, no lock, no printf; what is shared with the rest of the program is atomic or
  /// volatile. Calls of this very object's stop() and set_threshold() are fine. An exception that leaves the
  /// callback ends the program. Occurrences in the callback are not counted.
  signal,
  /// In a thread of the library, which reads the ring buffer every few milliseconds: anything may be done
  /// there,
  /// and the thread that counts goes on meanwhile. Also other processes, and what they start. The thread
  /// blocks
  /// all signals: handlers of the program run in the program's own threads.
  thread
};

struct OverflowOptions {
  Delivery delivery = Delivery::signal;
  bool emulate =
      false; ///< every event by a timer (PAPI_OVERFLOW_FORCE_SW), not only those that cannot interrupt
  std::chrono::milliseconds interval{10}; ///< of that timer, in processor time of the thread that counts
  int signal = 0;                         ///< which; 0: SIGRTMIN + 6
  pid_t pid = 0;                          ///< delivery by thread only: as SamplingOptions
  bool inherit = false;                   ///< likewise
  std::uint64_t registers = 0; ///< likewise: SamplingOptions::interrupted_registers; not of emulated events
};

/// What became of one event.
struct OverflowCount {
  std::uint64_t occurrences = 0; ///< counted since construction
  std::uint64_t overflows = 0;   ///< thresholds passed that the callback learnt of
};

/// Calls back every N occurrences of each of several events. Events that do not interrupt here
/// (can_interrupt()) are emulated: a timer reads them and tells how many thresholds have passed. Not started
/// yet after construction. One thread at a time may use an object: with Delivery::signal the one that made
/// it. fork(2), cancellation, descriptors: see group.hpp.
///
///     std::atomic<int> calls = 0;
///     recount::Overflow overflow({{recount::encode("perf::PAGE-FAULTS:u"), 10}},
///                                [&](const recount::OverflowCall&) { ++calls; });
///     overflow.start();
///     work();
///     overflow.stop();
class Overflow {
public:
  /// Throws Error as Group does; bad_input for a threshold of 0 and for a signal that has a handler already.
  Overflow(std::vector<OverflowEvent> events, OverflowCallback callback, const OverflowOptions& options = {});
  Overflow(const Overflow&) = delete;
  Overflow& operator=(const Overflow&) = delete;
  ~Overflow();

  void start();
  /// Makes the calls that are still due, also where the signal is blocked; after it no call comes any more.
  /// Called by the callback, it drops those calls instead.
  void stop();
  /// Running or not. The kernel reports the next occurrence as an overflow and counts the new threshold from
  /// there (PERF_EVENT_IOC_PERIOD); emulated events count it from now.
  void set_threshold(std::size_t event, std::uint64_t threshold);

  /// Whether a timer stands in for this event's interrupt.
  [[nodiscard]] bool emulated(std::size_t event) const;
  [[nodiscard]] std::vector<OverflowCount> counts();
  /// Overflows that the ring had no room for, so that the callback never learnt of them.
  [[nodiscard]] std::uint64_t missed();

private:
  class State;
  std::unique_ptr<State> state_;
};

} // namespace recount
