// The caches that recount caches infers from the readings of each node, as quantities to compare.
#pragma once

#include "compare/compare.hpp"

namespace recount::compare {

/// Capacity, line, ways and latency of each level, entries of TLBs, and the latency of memory, inferred again
/// from the record of each run of recount caches; `count` nodes, `nodes` by run. low and high are the
/// interval that the inference states. Throws recount::Error (bad_input) for a record that does not read.
[[nodiscard]] std::vector<Quantity> inferred_quantities(const result::Results& results,
                                                        const std::map<std::string, std::size_t>& nodes,
                                                        std::size_t count);

} // namespace recount::compare
