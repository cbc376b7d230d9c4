// PAPI's count of a command, alone or with that of perf.
#pragma once

#include "run/stat_run.hpp"

#include <string>
#include <vector>

namespace recount::stat {

/// Events that PAPI counts in one event set.
struct PapiNames {
  std::vector<std::string> names;
  bool joint = false; ///< over the execution that perf counts: nobody loses a counter by it
};

/// Adds a row of PAPI's behind each row that can have one: event, preset or metric; without `perf`, in its
/// place. Tries in a forked child what PAPI can count, and which names together: the rest are rows with
/// their reasons. The first of the returned sets is the only one that may be joint.
[[nodiscard]] std::vector<PapiNames> add_papi(Plan& plan, bool perf);

/// An execution for each set, after that of perf unless the set is joint. `plan` and `request` must outlive
/// the passes. Without `perf`, PAPI alone counts.
[[nodiscard]] std::vector<Pass> papi_passes(const Plan& plan, const std::vector<PapiNames>& sets, bool perf,
                                            const Request& request);

} // namespace recount::stat
