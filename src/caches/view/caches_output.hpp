// The output of recount caches.
#pragma once

#include "caches/infer/stated.hpp"
#include "command/output.hpp"

#include <string>
#include <vector>

namespace recount::caches {

/// The findings of one run, and how long it took.
struct ShownCaches {
  CachesFindings all;
  double seconds = 0;       ///< of measuring; 0: from a record
  bool interrupted = false; ///< only some of the readings were taken
};

/// One row per level, TLB and memory.
[[nodiscard]] command::Table caches_summary(const CachesFindings& findings);
/// One line per determined property, cut at the width of a line; properties of a level that are unknown for
/// one reason share a line.
[[nodiscard]] std::string caches_evidence(const CachesFindings& findings);
/// One row per property.
[[nodiscard]] command::Table caches_table(const CachesFindings& findings);
/// Every row of the grid: size, stride, average misses, average time. Empty without a grid.
[[nodiscard]] command::Table caches_rows(const CachesFindings& findings);
/// The full argument of each property and the method, wrapped.
[[nodiscard]] std::string caches_reasons(const CachesFindings& findings);
/// One object; several runs are its member "cores".
[[nodiscard]] std::string caches_json(const std::vector<ShownCaches>& all);

} // namespace recount::caches
