// Which of a loop's two bounds ends it, where that is always the same one.
#pragma once

#include "model/accelerated/nest.hpp"

namespace recount::model {

/// Drops the bound that is never the lesser, so that blocks that divide a matrix are seen to be all alike.
void settle_bounds(Nest& nest);

} // namespace recount::model
