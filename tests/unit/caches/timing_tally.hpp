// How often an inference from the times of simulated machines is right, near, unknown or wrong.
#pragma once

#include "commands/caches/infer/findings.hpp"
#include "timing_machine.hpp"

#include <array>
#include <map>
#include <ostream>
#include <string>

struct TimingTally {
  long exact = 0, within = 0, unknown = 0, wrong = 0; ///< within: the truth lies in the stated interval
  long high = 0, wrong_at_high = 0;
  [[nodiscard]] long all() const { return exact + within + unknown + wrong; }
};

/// By level and property: "L1d capacity".
using TimingTallies = std::map<std::string, TimingTally>;

/// Infers the caches of the machine of each seed in [from, from + count). Each wrong or
/// unknown value is written to `log`.
[[nodiscard]] TimingTallies tally_machines(std::uint64_t from, std::uint64_t count, std::ostream& log);
std::ostream& operator<<(std::ostream& out, const TimingTallies& tallies);
