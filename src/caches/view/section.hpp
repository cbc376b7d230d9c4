// Caches in a report.
#pragma once

#include "document/section.hpp"

namespace recount::report {

/// The caches that were found, compared with what is stated.
[[nodiscard]] Section caches_section();
/// Curves of time and misses over size and stride.
[[nodiscard]] Section sweeps_section();

} // namespace recount::report
