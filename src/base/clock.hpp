// The clocks of clock_gettime(2) in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace recount::base {

/// Async-signal-safe.
[[nodiscard]] inline std::int64_t clock_ns(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

} // namespace recount::base
