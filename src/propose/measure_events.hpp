// recount propose --measure: counts all events over the kernels, and has the proposed rows checked.
#pragma once

#include "propose/measured_rows.hpp"
#include "sweep/batch.hpp"

#include <map>
#include <string>
#include <vector>

namespace recount::propose {

struct MeasureOptions : sweep::BatchOptions {
  std::vector<std::string> events; ///< only these; empty: all of the CPU
  int repeat = 3;
};

/// Throws Error (bad_input) for an invalid CPU or time-out.
void check_options(const MeasureOptions& options);
/// Counts on this machine. Throws Error (unavailable) if no event can be counted, and as sweep::run_batch().
[[nodiscard]] sweep::Ended measure(const MeasureOptions& options, const Proposals& relatives);

/// The verdicts of recount check on proposed rows.
struct RowVerdicts {
  std::map<std::string, std::string> by_preset; ///< "PAPI_X": "agrees"
  std::string failure;                          ///< why recount check could not be run; empty: it was
};
/// Runs `recount check --table` on the rows in a process of its own.
[[nodiscard]] RowVerdicts check_rows(const MeasuredProposals& proposals);

} // namespace recount::propose
