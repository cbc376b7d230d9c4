// The figure of a check: counts relative to the expected ones; alone, and in a report.
#pragma once

#include "check/check.hpp"
#include "document/section.hpp"
#include "plot/sheet.hpp"

#include <string>
#include <vector>

namespace recount::check {

/// `results` for the caption. Throws recount::Error (bad_input) when there is no preset with a count and
/// an expected count other than 0.
[[nodiscard]] plot::Sheet compose_agreement(const std::vector<PresetVerdict>& verdicts,
                                            const result::Results& results);

/// The figure "agreement" of the results of recount check.
[[nodiscard]] plot::Figure agreement_figure();

/// Draws it; "-" is text on stdout. Throws Error as plot::draw() does. With nothing to draw
/// it prints a note on stderr.
void plot_check(const std::string& path, const Checked& checked, const result::Results& results);

/// The validation of presets in a report.
[[nodiscard]] document::Section check_section();

} // namespace recount::check
