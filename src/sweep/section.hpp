// The sweeps in a report.
#pragma once

#include "document/section.hpp"

namespace recount::sweep {

/// An appendix: every metric of every point, with its interval, accesses, and disturbed repetitions.
[[nodiscard]] document::Section values_section();

} // namespace recount::sweep
