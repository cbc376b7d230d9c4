// The simulated events of all processes, in shared memory: what opened an event counts need not be who opened
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <linux/perf_event.h>
#include <sys/types.h>

namespace recount::emulate {

/// One open event. Linux has a software event for each (the backing event), which decides everything that is
/// the same for all events: read formats, times, ids, inheritance, descriptors. Here is what it counts
/// instead. An event that is really one of Linux's has a slot too, for the order of its group.
struct Slot {
  bool used = false;
  bool simulated = false;
  bool clock = false;      ///< task-clock or cpu-clock by the emulated clock
  std::uint64_t id = 0;    ///< of the backing event
  std::uint64_t order = 0; ///< of opening
  pid_t owner = 0;         ///< the process that opened it
  pid_t opener = 0;        ///< its thread that did
  pid_t target = 0;        ///< thread whose work it counts; -1: of a CPU
  int cpu = -1;            ///< as requested; -1: any
  int backing_cpu =
      -1; ///< of the backing event: for a PMU of one CPU that CPU, so that Linux keeps its times
  bool foreign = false; ///< counts another thread than the one that opened it
  bool inherit = false, enable_on_exec = false, pinned = false, exclude_user = false, exclude_kernel = false;
  bool enabled = false, failed = false; ///< failed: pinned, and could not be scheduled
  bool dropped = false;                 ///< the target has executed a set-user-ID program
  std::int32_t leader = -1;             ///< slot of the leader, itself for a leader
  std::int32_t pmu = 0;
  std::uint64_t config = 0, config1 = 0, read_format = 0;
  double value = 0;
  std::uint64_t seen_ns = 0, seen_running_ns = 0; ///< of a foreign event: the backing event's, when last read
  double reset = 0; ///< counted before the last PERF_EVENT_IOC_RESET: the counter itself goes on
  std::uint64_t scheduled_ns = 0, unscheduled_ns = 0,
                reported_ns = 0; ///< reported: the running time last read
  std::int32_t counter = -1;     ///< where it runs; fixed ones from 32 on
  std::uint64_t period = 0, lost = 0;
  double next_sample = 0;
  pid_t due = 0;                ///< by the server: the thread that is to take its samples
  perf_event_attr attr{};       ///< as requested, for the layout of its samples
  std::int32_t output = -1;     ///< slot whose ring takes its samples, by PERF_EVENT_IOC_SET_OUTPUT
  std::uint64_t ring_bytes = 0; ///< of the mapping with its ring; 0: none
  bool paused = false;          ///< its ring, by PERF_EVENT_IOC_PAUSE_OUTPUT
  std::int64_t copies = -1; ///< how often Linux's records were copied to its ring; -1: Linux has none for it
  std::uint64_t unreported = 0; ///< samples that the ring had no room for, of which it does not tell yet
  /// Whether its value and its times are kept here.
  [[nodiscard]] bool counted() const { return simulated || clock; }
};

/// A sample is due where its value lacks less: values are sums of products.
inline constexpr double sample_rounding = 1e-6;

inline constexpr std::size_t max_slots = 1024;
inline constexpr int max_descriptors = 1 << 16; ///< of a process that can be events

/// What all processes of one `run` share.
struct Shared {
  std::uint64_t opened = 0;
  std::int32_t end = 0;          ///< one beyond the last slot ever used
  std::int64_t locked_pages = 0; ///< of rings, against perf_event_mlock_kb
  std::uint64_t executions = 0;  ///< parts of work that were accounted for
  std::uint64_t injected[64]{};  ///< how often an injected error has been given
  Slot slots[max_slots]{};
};

/// Holds the lock on the shared memory, with signals blocked: a handler may read counters too. A thread may
/// hold it several times. A program that is counted by the server must be paused meanwhile (RT_PAUSE): else
/// its thread may ask the server, which waits for the lock, for the next sample.
class Locked {
public:
  Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked();
  Shared* operator->() const;
  Shared& operator*() const;

private:
  std::uint64_t signals_ = 0;
  bool nested_ = false;
};

/// The same where nobody else has the lock now. Who serves others must not wait for it: its holder may wait
/// for the server.
class TryLocked {
public:
  TryLocked();
  TryLocked(const TryLocked&) = delete;
  TryLocked& operator=(const TryLocked&) = delete;
  ~TryLocked();
  explicit operator bool() const { return held_; }
  /// The thread that has it; 0: none.
  [[nodiscard]] static pid_t holder();

private:
  bool held_;
};

/// The events that were ever opened, without the lock.
[[nodiscard]] std::uint64_t count_opened();

/// A free slot, or -1; drops slots of processes that are gone.
[[nodiscard]] std::int32_t take_slot(Shared& shared);

/// The slot behind a descriptor of this process, or -1.
[[nodiscard]] std::int32_t find_slot(int fd);
void set_slot(int fd, std::int32_t slot);
/// Whether a descriptor of this process is behind the slot: dup(2) makes several.
[[nodiscard]] bool has_descriptor(std::int32_t slot);

} // namespace recount::emulate
