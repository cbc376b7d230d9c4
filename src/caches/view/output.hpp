// What recount caches shows of its findings.
#pragma once

#include "caches/infer/findings.hpp"
#include "command/output.hpp"
#include "result/run.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::cli {

/// The findings of one run, and how long it took.
struct ShownCaches {
  analysis::CachesFindings all;
  double seconds = 0; ///< of measuring; 0: from a record
};

/// One CPU of each kind of core: those of a hybrid CPU differ in capacity or in what caches they state.
[[nodiscard]] std::vector<std::optional<int>> one_of_each_kind();
/// What this system states of the caches of a CPU, source by source: hwloc's stand in the header, here is who
/// agrees with them and who does not.
[[nodiscard]] analysis::StatedNotes who_states(const result::Run& run, std::optional<int> cpu);

[[nodiscard]] Table caches_table(const ShownCaches& shown);
/// Every row of the grid: size, stride, average misses, average time. Empty without a grid.
[[nodiscard]] Table caches_rows(const ShownCaches& shown);
/// The written justification, wrapped.
[[nodiscard]] std::string caches_reasons(const ShownCaches& shown);
/// One object; several runs are its member "cores".
[[nodiscard]] std::string caches_json(const std::vector<ShownCaches>& all);

} // namespace recount::cli
