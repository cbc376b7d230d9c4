#pragma once

#include "quantity.hpp"

#include "kernel/blocks/block.hpp"

namespace pmu {

/// What one call of the block executes.
[[nodiscard]] Work block_work(const recount::kernel::native::Block& block, const void* context);

} // namespace pmu
