// The sections of a report about caches.
#pragma once

#include "document/section.hpp"

namespace recount::caches {

/// The caches that were found, compared with what is stated.
[[nodiscard]] document::Section caches_section();
/// Curves of time and misses over size and stride.
[[nodiscard]] document::Section sweeps_section();

} // namespace recount::caches
