// What happens to emulated events when a thread has executed something, and when to look again.
#pragma once

#include "model/emulate/settings.hpp"
#include "model/emulate/slot.hpp"
#include "model/trace/reader.hpp"

#include <cstddef>
#include <cstdint>
#include <sys/types.h>
#include <vector>

namespace recount::emulate {

/// A thread from which another one descends, by clone(2) or fork(2).
struct Ancestor {
  pid_t tid = 0;
  std::uint64_t opened =
      ~std::uint64_t{0}; ///< events when it created the next one, which inherits those; else unknown
};
using Lineage = std::vector<Ancestor>; ///< the nearest first

/// A thread that executes: how events know it, and its clocks.
struct Executor {
  pid_t tid = 0;
  Lineage lineage;
  int cpu = 0;
  std::uint64_t last_ns = 0; ///< CPU time when it was last accounted for; 0: never
  double clock_ns = 0;       ///< of rotation
  double kernel_ns = 0;      ///< in the kernel, by the emulated clock, since it was last accounted for
  double instructions = 0;
};

/// Work, and what each PMU's expressions are computed over: evaluated once, used for many events.
class Effect {
public:
  explicit Effect(const Work& work);
  /// With the timer interrupts that come while the thread executes the work.
  Effect(Work work, Executor& executor);
  [[nodiscard]] const std::vector<double>& values(std::size_t pmu) const { return values_[pmu]; }
  [[nodiscard]] double cycles(std::size_t pmu) const;

private:
  std::vector<std::vector<double>> values_;
};

/// How long a thread on the CPU takes for it.
[[nodiscard]] double nanoseconds(const Effect& effect, int cpu);

/// Counts of the slot's event in the effect.
[[nodiscard]] double compute_count(const Slot& slot, const Effect& effect);

/// Learns of what accounting does to slots; under their lock, but for deliver().
class Observer {
public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;
  /// The slot has another value; `scheduled`: it had a counter all the time.
  virtual void changed(const Slot& /*slot*/, std::int32_t /*index*/, bool /*scheduled*/) {}
  /// Its value may have reached the next sample.
  virtual void sample(Shared& /*shared*/, Slot& /*slot*/, std::int32_t /*index*/) {}
  /// The lock has been given back.
  virtual void deliver() {}
};

/// The thread has executed this in user mode and in the kernel by `now_ns` of its CPU time; nothing but time
/// passes for `nullptr`.
void account(Executor& executor, std::uint64_t now_ns, const Effect* user, const Effect* kernel,
             Observer& observer);

/// The process and those that it descends from, by /proc.
[[nodiscard]] Lineage read_lineage(pid_t process);

/// Whether the slot's event counts what the thread executes, on whichever CPU that is.
[[nodiscard]] bool counts_thread(const Slot& slot, pid_t tid, const Lineage& lineage);
/// Enabled, as its group is.
[[nodiscard]] bool is_enabled(const Shared& shared, const Slot& slot);

/// The share of time for which a foreign event is scheduled, by turns.
[[nodiscard]] double scheduled_share(const Shared& shared, const Slot& slot);

/// A thread has executed a program: begins what counts from there on. Linux removes the events of a user
/// without capabilities from a set-user-ID program.
void begin_program(pid_t tid, bool set_user_id);

/// What an event may count at most by what the tool can count down.
struct Pace {
  unsigned countdown = RT_COUNT_INSTRUCTIONS; ///< instructions of this kind
  double most = 0;    ///< occurrences at each of them, and none at others; 0: it counts nothing
  bool exact = false; ///< its samples are due at the very occurrence; else within `skid` instructions
};
/// Of the slot's event, which the formula of its machine decides.
[[nodiscard]] Pace make_pace(const Slot& slot);

/// Events of caches, TLBs and time are looked at after so many instructions, or a 128th of their period if
/// that is more.
inline constexpr double skid = 1000, skid_share = 1.0 / 128;

/// Of a thread, after it has been accounted for; under the lock of the slots. Samples that are due are left
/// to it, and count as taken.
[[nodiscard]] trace::Countdown make_countdown(const Executor& executor);

} // namespace recount::emulate
