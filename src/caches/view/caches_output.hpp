// The output of recount caches.
#pragma once

#include "caches/infer/findings.hpp"
#include "command/output.hpp"
#include "result/observation.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::caches {

/// The findings of one run, and how long it took.
struct ShownCaches {
  CachesFindings all;
  double seconds = 0;       ///< of measuring; 0: from a record
  bool interrupted = false; ///< only some of the readings were taken
};

/// One CPU of each kind of core: those of a hybrid CPU differ in capacity or in what caches they state.
[[nodiscard]] std::vector<std::optional<int>> one_of_each_kind();
/// The sources that agree with the caches that the header states, which are those of hwloc, and the others.
[[nodiscard]] StatedNotes source_of_stated_value(const result::Run& run, std::optional<int> cpu);

/// One row per level, TLB and memory.
[[nodiscard]] command::Table caches_summary(const ShownCaches& shown);
/// One line per determined property, cut at the width of a line; properties of a level that are unknown for
/// one reason share a line.
[[nodiscard]] std::string caches_evidence(const ShownCaches& shown);
/// One row per property.
[[nodiscard]] command::Table caches_table(const ShownCaches& shown);
/// Every row of the grid: size, stride, average misses, average time. Empty without a grid.
[[nodiscard]] command::Table caches_rows(const ShownCaches& shown);
/// The full argument of each property and the method, wrapped.
[[nodiscard]] std::string caches_reasons(const ShownCaches& shown);
/// One object; several runs are its member "cores".
[[nodiscard]] std::string caches_json(const std::vector<ShownCaches>& all);

} // namespace recount::caches
