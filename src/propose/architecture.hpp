// Rows over events that an architecture defines for all its cores: data, in data/architecture.txt.
#pragma once

#include <recount/preset.hpp>

#include <string>
#include <vector>

namespace recount::propose {

/// Type, formula and terms of a row; `place.line` is that of the data, negative, so that it is no line of a
/// table.
struct ArchitectureRow {
  std::string pmus; ///< a pattern
  Preset preset;
};

[[nodiscard]] const std::vector<ArchitectureRow>& architecture_rows();

} // namespace recount::propose
