// Classes of events, and whether this machine counts them: found by counting occurrences that are known.
#pragma once

#include <recount/reason.hpp>

#include <linux/perf_event.h>

#include <array>
#include <cstdint>
#include <optional>

namespace recount::host {

/// Events that one mechanism counts. That one of them opens proves nothing: under some hypervisors hardware
/// breakpoints open and count 0.
enum class EventClass {
  task_clock,
  cpu_clock,
  page_fault,
  context_switch,
  migration,
  breakpoint,
  tsc,
  cycles,
  instructions
};
inline constexpr std::array event_classes{
    EventClass::task_clock,  EventClass::cpu_clock,  EventClass::page_fault, EventClass::context_switch,
    EventClass::migration,   EventClass::breakpoint, EventClass::tsc,        EventClass::cycles,
    EventClass::instructions};
/// "page faults"
[[nodiscard]] const char* name_of(EventClass which);

/// The class of an event; none where no occurrences are known for it: most hardware events, tracepoints, and
/// generic events of one core type of a hybrid CPU. Pure but for the type of the PMU msr, which is cached.
[[nodiscard]] std::optional<EventClass> class_of(const perf_event_attr& attr);

/// Linux counts it while it executes in the kernel, so that a count of user mode is always 0:
/// perf_event_task_sched_out() and its like in kernel/events/core.c. Pure.
[[nodiscard]] bool occurs_in_kernel_only(const perf_event_attr& attr);

struct ClassState {
  enum class State {
    counts, ///< at least `known` occurrences were counted (breakpoints: exactly)
    dead,   ///< opened, scheduled, and fewer were counted
    missing ///< not opened (`error`) or never scheduled: another user, setting or moment may differ
  } state = State::missing;
  int error = 0;             ///< errno of perf_event_open(2); 0: never scheduled
  std::uint64_t known = 0;   ///< occurrences that were executed; nanoseconds of the clocks
  std::uint64_t counted = 0; ///< of these
};

/// Executes a handful of occurrences on the calling thread and counts them, once per process and class; only
/// `missing` is not kept. Takes up to a millisecond (context switches), else less than a tenth of one.
/// Thread-safe; a forked child keeps what its parent has found.
[[nodiscard]] ClassState class_state(EventClass which);

/// Why an event of a dead class has no value; empty: its class is not dead, or not known.
[[nodiscard]] Reason dead_reason(const perf_event_attr& attr);

} // namespace recount::host
