// One anonymised table of somebody's counts, in the format of the shipped ones.
#pragma once

#include "result/results_file.hpp"

#include <string>

namespace recount::explain {

/// Products of doubles that recount or PAPI counted in these results, as a published table
/// (recount-matmul(1)): CPU, microcode, kernel, versions of PAPI and recount, page size, counts and times. No
/// host, no user, no path, no command line, no date. Empty: there is no such count. Pure.
[[nodiscard]] std::string contribution(const result::Results& results);

} // namespace recount::explain
