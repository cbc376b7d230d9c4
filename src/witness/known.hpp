// Whether anybody knows a metric of a name, on whatever machine.
#pragma once

#include <string>
#include <vector>

namespace recount::witness {

/// Throws Error (bad_input) with the nearest names for a metric that is no preset (of PAPI's own, of the
/// tables that PAPI reads here, or of the user's events), no event of libpfm4 or sysfs, none of the model's
/// and no time. What is known passes, also where this machine cannot count it. `also`: further names that the
/// caller would have taken.
void demand_known(const std::string& metric, const std::vector<std::string>& also = {});

} // namespace recount::witness
