// recount propose --measure: counts all events over the kernels, and has the result checked.
#pragma once

#include "propose/measured.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace recount::propose {

struct MeasureOptions {
  std::string output; ///< results file; empty: none
  bool resume = false, quiet = false;
  std::vector<std::string> events; ///< only these; empty: all of the CPU
  int repeat = 3;
  std::string cpu, timeout; ///< as typed
};

/// Throws Error (bad_input) for a CPU or a time-out that is none.
void check_options(const MeasureOptions& options);
/// Counts on this machine. Throws Error: unavailable where no event can be counted, and as sweep::conduct().
/// `stopped`: by a signal; the results are then incomplete.
[[nodiscard]] result::Results measure(const MeasureOptions& options, const Proposals& relatives,
                                      bool& stopped);

/// The verdicts of `recount check --table` on the rows, run in a process of its own: "PAPI_X: agrees". Empty,
/// with `why`, where it cannot be run.
[[nodiscard]] std::map<std::string, std::string> verdicts_on(const MeasuredProposals& proposals,
                                                             std::string& why);

} // namespace recount::propose
