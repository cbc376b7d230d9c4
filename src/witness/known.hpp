// Whether a metric name exists on any machine.
#pragma once

#include <string>
#include <vector>

namespace recount::witness {

/// Throws Error (bad_input) with the nearest names for a metric that is no preset (of PAPI's own, of the
/// tables that PAPI reads here, or of the user's events), no event of libpfm4 or sysfs, none of the model's
/// and no time. Accepts metrics that this machine cannot count. `also`: further names accepted by the caller.
void demand_known(const std::string& metric, const std::vector<std::string>& also = {});

} // namespace recount::witness
