// The validation of presets in a report.
#pragma once

#include "document/section.hpp"

namespace recount::report {

[[nodiscard]] Section check_section();

} // namespace recount::report
