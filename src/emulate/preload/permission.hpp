// What perf_event_paranoid and perf_event_mlock_kb allow, for a process without capabilities.
#pragma once

#include "emulate/slot.hpp"

#include <linux/perf_event.h>

namespace recount::emulate {

/// CAP_PERFMON or CAP_SYS_ADMIN.
[[nodiscard]] bool privileged();
/// 0, or the errno with which Linux refuses the event.
[[nodiscard]] int refused_by_level(const perf_event_attr& attr, pid_t pid);

} // namespace recount::emulate
