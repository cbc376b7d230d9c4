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
namespace perf {
class OverflowEngine;
}

/// An event and its threshold: the callback is called every `threshold` occurrences.
struct OverflowEvent {
  Event event;
  std::uint64_t threshold = 0;
};

/// One event that overflowed.
struct Overflowed {
  std::size_t event = 0;    ///< index into the events of the Overflow
  std::uint64_t times = 1;  ///< thresholds passed; more than 1 only if emulated
  std::uint64_t excess = 0; ///< occurrences beyond the last threshold; 0 unless emulated
};

/// The argument of a callback. Valid during the call.
struct OverflowCall {
  std::uint64_t address = 0;              ///< instruction pointer at the overflow; 0: found by stop()
  std::uint64_t data_address = 0;         ///< of the data concerned, see Sample::address
  std::uint64_t events = 0;               ///< bit i: event i overflowed (the first 64 events)
  std::span<const Overflowed> overflowed; ///< the same with numbers, at least one
  bool emulated = false; ///< detected by a timer: late, and `address` is that of the timer's interrupt
  std::uint32_t pid = 0, tid = 0;
  /// The interrupted context, which may be changed. If stop() makes the call: that of stop(), and changes
  /// have no effect. Null when called from a thread.
  ucontext_t* context = nullptr;
};
using OverflowCallback = std::function<void(const OverflowCall&)>;

enum class Delivery {
  /// In a signal handler of the counting thread, the one that constructed the Overflow. If that thread blocks
  /// the
  /// signal, the call follows when it unblocks it or calls stop(). The callback may call only the functions
  /// of
  /// signal-safety(7), and stop() and set_threshold() of this object; shared data must be atomic or volatile.
  /// An exception that leaves the callback ends the program. Occurrences in the callback are not counted.
  signal,
  /// In a thread of the library, which reads the ring buffer every few milliseconds while the counting thread
  /// continues. The callback may call any function. Also counts other processes and their children. The
  /// thread
  /// blocks all signals, so that handlers of the program run in its own threads. An exception that leaves the
  /// callback ends the calls, and stop() throws it (the destructor drops it).
  thread
};

struct OverflowOptions {
  Delivery delivery = Delivery::signal;
  bool emulate = false; ///< by a timer for all events (PAPI_OVERFLOW_FORCE_SW), not only those that cannot
                        ///< interrupt
  std::chrono::milliseconds interval{10}; ///< of the timer, in CPU time of the counting thread
  int signal = 0;                         ///< number of the signal; 0: SIGRTMIN + 6
  pid_t pid = 0;                          ///< delivery by thread only: as SamplingOptions
  bool inherit = false;                   ///< likewise
};

/// Counts of one event.
struct OverflowCount {
  std::uint64_t occurrences = 0; ///< counted since construction
  std::uint64_t overflows = 0;   ///< thresholds passed that were reported to the callback
};

/// Calls back every N occurrences of each of several events. Events that do not interrupt here
/// (can_interrupt()) are emulated: a timer reads them and computes the thresholds passed, and stop() those
/// since its last interrupt (not with `inherit`). Construction does not start it. One thread at a time may
/// use an object: with Delivery::signal the one that constructed it. There may be any number of objects. The
/// handlers of their signal and of SIGIO (for a full queue of signals) remain installed after the last one,
/// since a signal that is still pending would end the process: they then do nothing. A handler that the
/// program installs for SIGIO is left alone. Of several equal software events of one thread Linux may report
/// the overflows of one only (seen with 6.18, by perf-record(1) as well). fork(2), cancellation, descriptors:
/// see group.hpp.
///
///     std::atomic<int> calls = 0;
///     recount::Overflow overflow({{recount::encode("perf::PAGE-FAULTS:u"), 10}},
///                                [&](const recount::OverflowCall&) { ++calls; });
///     overflow.start();
///     work();
///     overflow.stop();
class Overflow {
public:
  /// Throws Error as Group does; bad_input for a threshold of 0 and for a signal that already has a handler.
  Overflow(std::vector<OverflowEvent> events, OverflowCallback callback, const OverflowOptions& options = {});
  Overflow(const Overflow&) = delete;
  Overflow& operator=(const Overflow&) = delete;
  ~Overflow();

  void start();
  /// Makes all pending calls, also if the signal is blocked; no call follows it. Called by the callback, it
  /// drops the pending calls. With Delivery::thread it throws what the callback has thrown.
  void stop();
  /// Also while running. The kernel reports the next occurrence as an overflow and counts the new threshold
  /// from there (PERF_EVENT_IOC_PERIOD); emulated events count it from the call.
  void set_threshold(std::size_t event, std::uint64_t threshold);

  /// Whether a timer emulates the interrupt of this event.
  [[nodiscard]] bool emulated(std::size_t event) const;
  [[nodiscard]] std::vector<OverflowCount> counts();
  /// Overflows that were not reported, because the ring was full.
  [[nodiscard]] std::uint64_t missed();

private:
  /// Throws in a forked child.
  [[nodiscard]] perf::OverflowEngine& here() const;
  std::unique_ptr<perf::OverflowEngine> engine_;
};

} // namespace recount
