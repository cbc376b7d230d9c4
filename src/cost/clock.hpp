// The clock as a probe, and whether it counts instructions.
#pragma once

#include "cost/probe.hpp"

#include <optional>

namespace recount::cost {

/// CLOCK_MONOTONIC_RAW in nanoseconds.
[[nodiscard]] Probe clock_probe() noexcept;

/// Nanoseconds per instruction, where different kinds of code take the same time per instruction: an
/// emulator then advances the clock by the instructions executed. None on real machines, and where this
/// architecture is not known.
[[nodiscard]] std::optional<double> clock_counts_instructions();

} // namespace recount::cost
