// Reading back what sampled events counted and lost.
#pragma once

#include "perf/sample_open.hpp"

#include <recount/sampling.hpp>

#include <vector>

namespace recount::perf {

/// Fills in occurrences, times and lost of each event, summed over the contexts; the rest of `into`, which
/// has an element for each event, stays. Gives the records that followers lost. Throws Error when the kernel
/// refuses.
std::uint64_t read_counts(const OpenSampling& open, std::vector<SampledCount>& into);

} // namespace recount::perf
