// Which part of the run time of a command its counters covered.
#pragma once

#include "process/child.hpp"
#include "result/observation.hpp"

#include <recount/count.hpp>

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace recount::stat {

/// Counters, and the processor time of the command right before and after they were read; 0 where a process
/// is counted that was not started here.
struct Reading {
  std::vector<Count> counts;
  std::chrono::nanoseconds before{0}, after{0};
};
[[nodiscard]] Reading read(const std::function<std::vector<Count>()>& counters,
                           const process::Child* command);

/// Difference between two readings.
struct Between {
  std::vector<Count> counts;
  std::string removed;    ///< why nothing was counted, see perf::removed(); empty: counted
  std::string incomplete; ///< what is missing from the counts; empty: nothing known
};
/// Of the whole, from the start of the command. Pure.
[[nodiscard]] Between between(const Reading& first, const Reading& now);
/// Of an interval. `ended`: the command has, so that `now` holds the time of descendants from before as well.
/// Pure.
[[nodiscard]] Between between(const Reading& first, const Reading& from, const Reading& now, bool ended);

/// Adds a flag, unless it is empty, to each row that has a value.
void flag_all(std::span<result::Observation> rows, const std::string& flag);

} // namespace recount::stat
