// The memory that blocks work on.
#pragma once

#include "kernel/blocks/block_kernel.hpp"

#include <cstddef>
#include <span>

namespace recount::kernel {

/// Bytes of data of a block with this many turns.
[[nodiscard]] std::int64_t data_bytes(Data data, std::int64_t turns);
/// Fills them; `random`: in a fixed pseudo-random order.
void lay_out(Data data, bool random, std::span<std::byte> memory);

/// Expected predictions and mispredictions of a tally's branches.
[[nodiscard]] std::vector<Expectation> predicted(const Tally& tally, bool random, double steps);

} // namespace recount::kernel
