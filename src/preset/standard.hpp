// The presets that PAPI itself defines.
#pragma once

#include <span>
#include <string_view>

namespace recount::preset {

struct Standard {
  std::string_view name; ///< "PAPI_L1_DCM"
  std::string_view text; ///< what it is meant to count
};

/// All of them, in PAPI's order: a name that is not here gets one of the 20 places that are left.
[[nodiscard]] std::span<const Standard> standard_presets();
[[nodiscard]] const Standard* standard_preset(std::string_view name);

} // namespace recount::preset
