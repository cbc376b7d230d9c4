// How fast the core is just now: its clock rate changes with load and heat, and times change with it.
#pragma once

namespace recount::study {

/// Seconds that a chain of some thousand dependent multiplications takes: no memory takes part, so it tells
/// the clock rate of the core, up to what interrupts add. About two microseconds.
[[nodiscard]] double core_clock_seconds();

} // namespace recount::study
