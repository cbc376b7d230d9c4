// The presets that a tally answers.
#pragma once

#include "kernel/kernel.hpp"
#include "kernel/tally.hpp"

#include <vector>

namespace recount::kernel {

/// Presets that count instructions and operations, known zeros included: each a sum of the tally's kinds over
/// `turns` times `turn` and `besides`.
[[nodiscard]] std::vector<Expectation> instruction_presets(const Tally& turn, double turns,
                                                           const Tally& besides);

/// Presets that count what caches do, for code whose lines all fit in L1 except those that
/// the tally counts as misses.
[[nodiscard]] std::vector<Expectation> cache_presets(const Tally& turn, double turns, const Tally& besides);

} // namespace recount::kernel
