// The runs of a plan: its shards, and which of the planned runs a results file holds.
#pragma once

#include "result/results_file.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace recount::result {

/// "clock matmul n=600 variant=ijk": a planned run without its repetition, as in Run::planned.
[[nodiscard]] std::string planned_name(const Witness& witness, const std::string& kernel,
                                       const Params& params);

/// A plan is stated name by name up to so many names.
inline constexpr std::size_t most_planned_names = 2000;

/// A study that is not complete: it was stopped, or is still running.
struct Incomplete {
  std::size_t done = 0, planned = 0; ///< runs; failed ones are done
  std::vector<std::string> missing;  ///< names with the missing repetitions: "clock ... (2 of 5)"
};

/// One for each plan that lacks runs. Runs that continue another one (Run::resumes) belong to it.
[[nodiscard]] std::vector<Incomplete> incomplete(const Results& results);

/// "5 of 24 runs; missing: clock matmul n=600 (2 of 5), ... and 3 more. ...".
[[nodiscard]] std::string describe(const Incomplete& study);

/// Gives the observations and failures of shards of one plan, and of the runs that resume them, to the first
/// of these runs, so that analyses by run see the whole plan. Shards of several machines are joined only
/// where all their values are of described machines ("model:NAME"), which are the same everywhere. The runs
/// stay.
void join_shards(Results& results);

} // namespace recount::result
