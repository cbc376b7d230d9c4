// What recount caches shows of its findings.
#pragma once

#include "analysis/caches_compare.hpp"
#include "result/run.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::cli {

/// The findings of one run, with where they come from.
struct ShownCaches {
  analysis::Caches found;
  std::string machine;    ///< CPU model
  std::optional<int> cpu; ///< measured on; nothing: not pinned, or modelled
  std::string stated_by;
  double seconds = 0; ///< of measuring; 0: from a record
};

/// One CPU of each kind of core: those of a hybrid CPU differ in capacity or in what caches they state.
[[nodiscard]] std::vector<std::optional<int>> one_of_each_kind();
/// What stands beside findings: the described `machine` if one is named, the machine that was simulated, or
/// what the header of the run has from hwloc. Throws recount::Error (bad_input) for an unknown machine.
[[nodiscard]] analysis::StatedCaches stated_caches(const std::string& machine, const std::string& witness,
                                                   const result::Run& run, std::optional<int> cpu);

[[nodiscard]] std::string caches_table(const ShownCaches& shown);
/// The written justification, wrapped.
[[nodiscard]] std::string caches_reasons(const ShownCaches& shown);
/// One run as an object, several as {"cores": [...]}.
[[nodiscard]] std::string caches_json(const std::vector<ShownCaches>& all);

} // namespace recount::cli
