// Reads the counts and lost samples of sampled events.
#pragma once

#include "perf/sample_open.hpp"

#include <recount/sampling.hpp>

#include <vector>

namespace recount::perf {

/// Fills in occurrences, times and lost of each event, summed over the contexts; the rest of `into`, which
/// has one element per event, is unchanged. Returns the records lost by followers. Throws Error when the
/// kernel refuses.
std::uint64_t read_counts(const OpenSampling& open, std::vector<SampledCount>& into);

} // namespace recount::perf
