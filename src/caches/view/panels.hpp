// The panels of such figures, each from the findings of one run. A panel without series: nothing to draw.
#pragma once

#include "caches/infer/findings.hpp"
#include "document/section.hpp"
#include "plot/sheet.hpp"
#include "result/results_file.hpp"

#include <string>
#include <vector>

namespace recount::caches {

/// The caches that were found, compared with what is stated.
[[nodiscard]] document::Section caches_section();
/// Curves of time and misses over size and stride.
[[nodiscard]] document::Section sweeps_section();

/// Whether a run of recount caches is among the results.
[[nodiscard]] bool holds_caches(const result::Results& results);

/// "caches" (a summary), "caches-latency", "caches-ways", "caches-line", "caches-stopwatch", "caches-misses".
/// Each run on record gets panels of its own. Throws recount::Error (bad_input) when the results
/// lack its data (no such run, no times, no grid) or it has more panels than fit on a page.
[[nodiscard]] plot::Sheet compose_caches(const std::string& name, const result::Results& results);

/// All of them.
[[nodiscard]] std::vector<plot::Figure> caches_figures();

/// Time against the working set, with measured and stated capacities.
[[nodiscard]] plot::Panel latency_panel(const CachesFindings& findings);
/// Lines retained against stride; constant at the number of ways.
[[nodiscard]] plot::Panel ways_panel(const CachesFindings& findings);
/// Miss rate of pairs of accesses against their distance.
[[nodiscard]] plot::Panel line_panel(const CachesFindings& findings);
/// Mean access time against the stride, one curve per size, for a kernel.
[[nodiscard]] plot::Panel stopwatch_panel(const CachesFindings& findings, const std::string& kernel);
/// Average misses against the stride, one curve per size around the capacity; level 0 is L1.
[[nodiscard]] plot::Panel misses_panel(const CachesFindings& findings, std::size_t level);
/// Levels whose ways the curves of ways_panel() do not show, and why.
[[nodiscard]] std::vector<std::string> hidden_ways(const CachesFindings& findings);
/// The values from the grid of misses, or of times: "L1d: between 32 and 64 KiB, line 64 B, 8 to 15
/// ways ...".
[[nodiscard]] std::vector<std::string> classic_lines(const CachesFindings& findings, bool misses);

} // namespace recount::caches
