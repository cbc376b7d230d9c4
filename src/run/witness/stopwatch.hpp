// Wall time and TSC around a region, and the overhead of reading them.
#pragma once

#include "base/host/disturbance.hpp"
#include "kernel/kernel.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace recount::witness {

/// Time between two readings around a region, including the overhead of the readings.
struct Lapse {
  std::int64_t ns = 0;    ///< CLOCK_MONOTONIC_RAW: not slewed by time synchronisation (clock_gettime(2))
  std::int64_t ticks = 0; ///< of the time-stamp counter; 0 where there is none
};

/// Whether this architecture has a time-stamp counter that user code may read (x86).
[[nodiscard]] bool has_tsc() noexcept;

/// Executes the region once between two pairs of readings; what the region throws passes through.
[[nodiscard]] Lapse lapse(const kernel::Region& region);

/// A lapse, and what may have disturbed it (host::flags): stolen time, a migration, a changed frequency...
struct Watched {
  Lapse lapse;
  /// CPU time of this thread (clock_gettime(2), CLOCK_THREAD_CPUTIME_ID) and of the children that it awaited
  /// (getrusage(2)), with that of the readings, some microseconds. A helper thread's is no part of it.
  std::int64_t cpu_ns = 0;
  std::vector<Flag> flags;
};
/// As lapse(), watched from just before to just after.
[[nodiscard]] Watched watched_lapse(const kernel::Region& region);

/// Lapse of an empty region: the minimum of 100, per component.
[[nodiscard]] Lapse own_cost();

/// A lapse minus the overhead of the stopwatch; nothing if not positive. Pure.
[[nodiscard]] std::optional<std::int64_t> without(std::int64_t lapse, std::int64_t cost) noexcept;

} // namespace recount::witness
