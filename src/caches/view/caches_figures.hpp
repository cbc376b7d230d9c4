// The figures of recorded runs of recount caches.
#pragma once

#include "plot/sheet.hpp"
#include "result/results_file.hpp"

#include <string>
#include <vector>

namespace recount::caches {

/// "caches" (a summary), "caches-latency", "caches-ways", "caches-line", "caches-stopwatch", "caches-misses".
/// Each run on record gets panels of its own. Throws recount::Error (bad_input) when the results lack its
/// data (no such run, no times, no grid) or it has more panels than fit on a page.
[[nodiscard]] plot::Sheet compose_caches(const std::string& name, const result::Results& results);

/// All of them.
[[nodiscard]] std::vector<plot::Figure> caches_figures();

} // namespace recount::caches
