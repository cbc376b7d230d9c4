// The figure of recount check: one row per preset, counted / expected.
#pragma once

#include "check/verdict.hpp"
#include "plot/figure.hpp"
#include "result/read.hpp"

#include <vector>

namespace recount::check {

/// `results` for the caption. Throws recount::Error (bad_input) when there is no preset with a count and
/// an expected count other than 0.
[[nodiscard]] plot::Sheet compose_agreement(const std::vector<PresetVerdict>& verdicts,
                                            const result::Results& results);

/// The figure "agreement" of the results of recount check.
[[nodiscard]] plot::Figure agreement_figure();

} // namespace recount::check
