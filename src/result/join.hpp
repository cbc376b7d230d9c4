// The shards of one plan as one run.
#pragma once

#include "result/read.hpp"

namespace recount::result {

/// Gives the observations and failures of shards of one plan, and of the runs that resume them, to the first
/// of these runs, so that analyses by run see the whole plan. Shards of several machines are joined only
/// where all their values are of described machines ("model:NAME"), which are the same everywhere. The runs
/// stay.
void join_shards(Results& results);

} // namespace recount::result
