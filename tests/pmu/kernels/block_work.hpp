#pragma once

#include "model/emulate/machine.hpp"

#include "kernel/blocks/block.hpp"

namespace recount::emulate {

/// What one call of the block executes.
[[nodiscard]] Work block_work(const recount::kernel::native::Block& block, const void* context);

} // namespace recount::emulate
