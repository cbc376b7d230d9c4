// The formulas of presets on a CPU, one line each, recorded so that results are self-contained.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace recount::matmul {

/// "LLC_REFERENCES - L2_RQSTS:CODE_RD_MISS (DERIVED_SUB, papi_events.csv:837)" by preset, for those that the
/// table which PAPI reads defines. `cpu`: libpfm4's name of a core PMU ("skl"); empty: this machine's.
/// Nothing, and no error, where there is no table or nobody knows the CPU.
[[nodiscard]] std::map<std::string, std::string> preset_notes(const std::vector<std::string>& presets,
                                                              const std::string& cpu = {});

} // namespace recount::matmul
