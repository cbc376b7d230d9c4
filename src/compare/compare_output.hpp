// A comparison of machines as tables, JSON, a figure and a section of a report.
#pragma once

#include "compare/compare.hpp"
#include "document/section.hpp"
#include "plot/sheet.hpp"

#include <string>
#include <vector>

namespace recount::compare {

/// Findings, differences, and a table for each quantity: all, or those over all points and with an outlier.
[[nodiscard]] std::vector<document::Block> comparison_blocks(const Comparison& comparison, bool all);
/// The same with one table of all quantities, for files.
[[nodiscard]] std::vector<document::Block> comparison_tables(const Comparison& comparison);
/// One object, documented in recount-compare(1).
[[nodiscard]] std::string comparison_json(const Comparison& comparison);

/// A dot for each node with its interval: quantities with an outlier first.
[[nodiscard]] plot::Sheet compose_nodes(const Comparison& comparison, const result::Results& results);
[[nodiscard]] plot::Figure nodes_figure();
/// Of results of several nodes that have quantities in common.
[[nodiscard]] document::Section compare_section();

} // namespace recount::compare
