// Whether this process is a program of recount emulate, from its environment.
#pragma once

#include <string_view>

namespace recount::host {

struct Emulation {
  bool exact = false;      ///< what is executed is counted (--exact), in Valgrind
  bool clock = false;      ///< and clocks tell its cycles (without --real-time)
  bool repeatable = false; ///< and nothing is random: an execution repeated has the same counts
};

/// From the text of RECOUNT_PMU_OPTIONS. Pure.
[[nodiscard]] Emulation parse_emulation(std::string_view options);

/// Of this process. Thread-safe.
[[nodiscard]] Emulation this_emulation();

/// ", emulated" for the head of what has times, where clocks are emulated; else empty.
[[nodiscard]] const char* emulated_text();

/// Whether a processor of that name is an emulated machine's, as its /proc/cpuinfo says. Pure.
[[nodiscard]] bool is_emulated(std::string_view cpu_name);

/// The repetitions of a measurement: those given, or, with 0, `usual`; one where all would be equal.
[[nodiscard]] int repetitions(long given, int usual);
/// Says that there is one; empty: there may be several.
[[nodiscard]] const char* single_execution_text(long given);

} // namespace recount::host
