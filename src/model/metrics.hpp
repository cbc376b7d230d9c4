// The model's counts under the names of PAPI's presets.
#pragma once

#include "model/hierarchy.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace recount::model {

/// Metric name -> value, for the levels and TLBs that the machine has: PAPI_L1_DCM, PAPI_L2_DCA, PAPI_LD_INS
/// ... and MODEL_... names for events without a preset. Each is defined in recount-machines(5).
[[nodiscard]] std::map<std::string, std::int64_t> metrics(const Hierarchy& hierarchy);

/// The same of given counts of such a machine. Linear in them.
[[nodiscard]] std::map<std::string, std::int64_t> metrics(const Counts& counts,
                                                          const MachineDescription& machine);

/// Half-widths of the intervals of these values, if they were sampled: the 95 % interval of the mean of the
/// samples, and the misses of this and of the upper levels that a longer warm-up might have made hits.
[[nodiscard]] std::map<std::string, double> sampling_errors(const Hierarchy& hierarchy);

/// metrics() for a member of the machine's family; evictions and write-backs are not known of those.
[[nodiscard]] std::map<std::string, std::int64_t> metrics(const Hierarchy& hierarchy,
                                                          const FamilyMember& member);

/// The same keys without a simulation: of loads and stores alone, or of instruction `fetches`, too.
[[nodiscard]] std::vector<std::string> metric_names(const MachineDescription& machine, bool fetches = false);

/// The machine without those outermost levels that no requested metric needs and that do not change the
/// levels within: they are neither inclusive nor exclusive. The requested metrics stay the same to the last
/// count; fewer levels are simulated faster.
[[nodiscard]] MachineDescription enough_for(MachineDescription machine, std::span<const std::string> metrics);

} // namespace recount::model
