// An executor of its own for measured regions: a child is single-stepped through one, and a decoder that
// knows nothing of the kernels' tables says what each instruction is.
#pragma once

#include "kernel/kernel.hpp"
#include "kernel/tally.hpp"

#include <string>

/// Why regions cannot be stepped through here; empty: they can.
[[nodiscard]] std::string cannot_step();

/// What one call of the region executes, from its first instruction to its return, both included. Barriers,
/// cache misses and store conditionals are what the decoder can tell of them: misses stay 0.
[[nodiscard]] recount::kernel::Tally executed(const recount::kernel::Region& region);
