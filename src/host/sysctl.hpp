// Kernel settings by their sysctl names.
#pragma once

#include <optional>
#include <string>

namespace recount::host {

/// The value of a setting, e.g. sysctl("kernel.perf_event_paranoid"); nothing where this kernel has no such
/// setting or does not let us read it. See perf_event_open(2) and sysctl.d(5).
[[nodiscard]] std::optional<std::string> sysctl(const std::string& name);
/// The same as a number.
[[nodiscard]] std::optional<long long> sysctl_number(const std::string& name);

/// "kernel.perf_event_paranoid = 2", for the `setting` of an Error; "(not there)" where it is missing.
[[nodiscard]] std::string show_setting(const std::string& name);

} // namespace recount::host
