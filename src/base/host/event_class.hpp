// Classes of events, and whether this machine counts them: tested by counting a known number of occurrences.
#pragma once

#include <recount/reason.hpp>

#include <linux/perf_event.h>

#include <array>
#include <cstdint>
#include <optional>

namespace recount::host {

/// Events that are counted by the same mechanism. An event that opens may still count nothing: under some
/// hypervisors hardware breakpoints open and count 0.
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

/// The class of an event; none if no known number of its occurrences can be produced: most hardware events,
/// tracepoints, and generic events of one core type of a hybrid CPU. Pure except for the cached type of the
/// PMU msr.
[[nodiscard]] std::optional<EventClass> class_of(const perf_event_attr& attr);

/// Whether Linux raises the event in kernel mode only, so that a count of user mode is always 0: see
/// perf_event_task_sched_out() in kernel/events/core.c. Pure.
[[nodiscard]] bool occurs_in_kernel_only(const perf_event_attr& attr);

struct ClassState {
  enum class State {
    counts, ///< at least `known` occurrences were counted (breakpoints: exactly)
    dead,   ///< opened, scheduled, and fewer were counted
    missing ///< not opened (`error`) or never scheduled: another user, setting or moment may differ
  } state = State::missing;
  int error = 0;             ///< errno of perf_event_open(2); 0: never scheduled
  std::uint64_t known = 0;   ///< occurrences that were produced; for clocks: nanoseconds
  std::uint64_t counted = 0; ///< occurrences that were counted
};

/// Produces a few occurrences on the calling thread and counts them. The result is cached for the process and
/// its forked children, unless it is `missing`. Takes up to 1 ms for context switches, otherwise less than
/// 0.1 ms. Thread-safe.
[[nodiscard]] ClassState class_state(EventClass which);

/// Why an event of a dead class has no value; empty if its class is unknown or not dead.
[[nodiscard]] Reason dead_reason(const perf_event_attr& attr);

} // namespace recount::host
