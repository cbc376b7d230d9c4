// PAPI's timers: wall time and the time the calling thread spent on a processor.
#pragma once

namespace recount::papi {

/// Wall clock since an arbitrary start; never goes back. Nanoseconds. Source: PAPI_get_real_nsec.
[[nodiscard]] long long real_ns();
/// The same in microseconds. Source: PAPI_get_real_usec.
[[nodiscard]] long long real_us();
/// Wall clock in ticks of the time-stamp counter, or of whatever counter PAPI has for it on this
/// architecture; ticks of constant length, not core cycles. Source: PAPI_get_real_cyc.
[[nodiscard]] long long real_cycles();

/// Processor time of the calling thread, user and kernel. Nanoseconds. Source: PAPI_get_virt_nsec.
[[nodiscard]] long long virtual_ns();
/// The same in microseconds. Source: PAPI_get_virt_usec.
[[nodiscard]] long long virtual_us();
/// The same in cycles at the frequency that PAPI assumes (its time multiplied by the MHz it read at start):
/// an estimate. Source: PAPI_get_virt_cyc.
[[nodiscard]] long long virtual_cycles();

// All of them initialise PAPI when this is its first use and throw recount::Error when that fails (see
// papi::initialise). Any thread may call them.

} // namespace recount::papi
