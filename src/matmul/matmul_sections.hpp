// The matrix-multiplication study in a report.
#pragma once

#include "document/section.hpp"

#include <vector>

namespace recount::matmul {

/// Its section, and all its values at the end.
[[nodiscard]] std::vector<document::Section> product_sections();

} // namespace recount::matmul
