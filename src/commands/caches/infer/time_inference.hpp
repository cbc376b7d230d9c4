// The caches of a machine from access times, where pages have any physical addresses.
#pragma once

#include "commands/caches/infer/findings.hpp"

namespace recount::caches {

/// Infers levels, TLBs and memory from times, and the first level from misses if they are counted. Adds to
/// `found.method` what was granted of huge pages. Throws what the sampler throws.
void infer_by_time(Caches& found, CachedSampler& cached, Sampler& sampler, const StageCallback& stage);

} // namespace recount::caches
