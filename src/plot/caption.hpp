// The caption and the warnings of a figure.
#pragma once

#include "plot/select.hpp"
#include "plot/sheet.hpp"

#include <functional>
#include <string>
#include <vector>

namespace recount::plot {

/// The CPUs behind the results, each once, of those machines ("CPU on HOST") that are wanted.
[[nodiscard]] std::vector<std::string> machine_names(
    const result::Results& results,
    const std::function<bool(const std::string&)>& wanted = [](const std::string&) { return true; });

/// Fills in caption and warnings: machines, statistics, what was not counted, multiplexed or disturbed.
void write_caption(Sheet& sheet, const result::Results& results, const Selected& selected);

} // namespace recount::plot
