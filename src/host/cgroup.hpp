// What the control group of this process allows, in both versions of the hierarchy (see cgroups(7)).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace recount::host {

/// Limits and throttling of this process's control group; no value: no limit, or not readable from here.
struct Cgroup {
  std::optional<std::int64_t> memory_limit;      ///< bytes
  std::optional<std::int64_t> memory_used;       ///< bytes
  std::optional<double> cpus;                    ///< CPU time per time: quota / period
  std::optional<std::int64_t> throttled_periods; ///< since the group began
  std::optional<std::int64_t> throttled_ns;      ///< since the group began
};
/// The tightest limit on the way from the process's group up to the root. `root` and `membership` (the text
/// of /proc/self/cgroup) are for tests.
[[nodiscard]] Cgroup cgroup(const std::string& root, const std::string& membership);
[[nodiscard]] Cgroup cgroup();

/// Bytes of memory that can still be taken without swapping: MemAvailable of /proc/meminfo, or what is left
/// below the control group's limit if that is less.
[[nodiscard]] std::int64_t memory_available();

} // namespace recount::host
