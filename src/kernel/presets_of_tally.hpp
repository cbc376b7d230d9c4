// The presets that a tally answers.
#pragma once

#include "kernel/kernel.hpp"
#include "kernel/tally.hpp"

#include <vector>

namespace recount::kernel {

/// One expectation for each preset that is a sum of a tally's kinds, known zeros included: `turns` times
/// `turn` and `besides`.
[[nodiscard]] std::vector<Expectation> expectations(const Tally& turn, double turns, const Tally& besides);

} // namespace recount::kernel
