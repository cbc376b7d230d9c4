// A check from its results file alone.
#pragma once

#include "check/verdict.hpp"
#include "result/read.hpp"

#include <vector>

namespace recount::check {

/// Whether the results are those of `recount check`.
[[nodiscard]] bool is_check(const result::Results& results) noexcept;

/// One verdict for each metric that was counted and that its kernel or the model states, by each kernel's own
/// tolerance; relations between presets are left out. Standard presets first, in PAPI's order.
[[nodiscard]] std::vector<PresetVerdict> verdicts_of(const result::Results& results);

} // namespace recount::check
