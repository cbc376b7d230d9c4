// The events behind a preset, for a witness that counts events itself.
#pragma once

#include <string>

namespace recount::witness {

/// Whether a metric is a preset name (PAPI_L1_DCM) and not an event's.
[[nodiscard]] bool is_preset(const std::string& metric);

/// Why the perf witness cannot count this preset on this machine.
[[nodiscard]] std::string preset_refused(const std::string& metric);

} // namespace recount::witness
