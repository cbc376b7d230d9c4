// The validation of presets in a report.
#pragma once

#include "document/section.hpp"

namespace recount::check {

[[nodiscard]] document::Section check_section();

} // namespace recount::check
