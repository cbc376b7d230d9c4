// Which events count floating-point operations, by family of CPU.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace recount::simple {

/// An event and its operations per occurrence.
struct FlopTerm {
  const char* event; ///< libpfm4's, without the PMU: of this machine
  unsigned weight;
};
/// The events that together count every operation once; a fused multiply-add counts as two.
struct FlopRecipe {
  const char* family;
  const char* example; ///< a PMU of libpfm4 that has these events
  std::vector<FlopTerm> terms;
};
/// In the order in which they are tried. Sources: Intel SDM vol. 3 and perfmon event files
/// (FP_ARITH_INST_RETIRED), AMD PPR for families 17h and 19h (PMCx003).
[[nodiscard]] std::span<const FlopRecipe> flop_recipes();

/// "skl::A + 2 x skl::B".
[[nodiscard]] std::string describe(const FlopRecipe& recipe);

} // namespace recount::simple
