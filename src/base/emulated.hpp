// Whether this process is executed by recount emulate --exact.
#pragma once

#include <cstdlib>
#include <string_view>

namespace recount::base {

/// Then Valgrind executes it, counts are those of its instructions, and the machine has one core.
[[nodiscard]] inline bool emulated_exactly() {
  const char* const options = std::getenv("RECOUNT_PMU_OPTIONS");
  return options != nullptr && std::string_view(options).find("exact 1") != std::string_view::npos;
}

} // namespace recount::base
