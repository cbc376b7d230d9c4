// Code whose instructions can be counted by reading it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace recount::test {

// Code around a loop must be the same for any number of rounds, else the difference of two counts holds more
// than the loop: functions that count take the number as a parameter and are gnu::noipa, so that the compiler
// makes no second version for a number it knows.

/// Executes exactly two instructions per round; at least one round.
[[gnu::always_inline]] inline void spin(std::uint64_t rounds) {
  asm volatile("1:\n\tsubs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
}

/// Executes exactly 1024 instructions per round, cheap to emulate; at least one round.
inline constexpr std::uint64_t idle_round = 1024;
[[gnu::always_inline]] inline void idle(std::uint64_t rounds) {
  asm volatile("1:\n\t.rept 1022\n\tnop\n\t.endr\n\tsubs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
}

/// Exact cycles per instruction: qemu's -icount shift=GUEST_SHIFT.
inline std::uint64_t cycles_per_instruction() {
  const char* shift = std::getenv("GUEST_SHIFT");
  return std::uint64_t{1} << (shift == nullptr ? 0 : std::strtoul(shift, nullptr, 10));
}

} // namespace recount::test
