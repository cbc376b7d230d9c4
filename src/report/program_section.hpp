// The section on programs: what recount stat counted in them, and where recount profile saw it.
#pragma once

#include "document/section.hpp"

namespace recount::report {

/// The metrics of each command with their intervals, the functions with most occurrences, and the figures of
/// both; empty where the results have no program.
[[nodiscard]] document::Section programs_section();

} // namespace recount::report
