// The memory that blocks work on.
#pragma once

#include "kernel/blocks/block_kernel.hpp"

#include <cstddef>
#include <span>

namespace recount::kernel {

/// Bytes that a block of so many turns works on.
[[nodiscard]] std::int64_t data_bytes(Data data, std::int64_t turns);
/// Fills them; `random`: coins fall in an order without a pattern, the same each time.
void lay_out(Data data, bool random, std::span<std::byte> memory);

/// What branch predictors must make of a tally's branches.
[[nodiscard]] std::vector<Expectation> predicted(const Tally& tally, bool random, double steps);

} // namespace recount::kernel
