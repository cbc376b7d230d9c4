// Descriptions of the generic events of the kernel.
#pragma once

#include <string>

namespace recount::event {

/// A line about a generic event of libpfm4's table "perf", whose own text is only a name; empty for others.
/// After perf_event_open(2) and, for what the manual leaves out, the comments in linux/perf_event.h.
[[nodiscard]] std::string generic_prose(const std::string& kernel_name);

} // namespace recount::event
