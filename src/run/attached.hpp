// Counters of a plan on a command, on processes or on CPUs: their readings, and the counts of intervals.
#pragma once

#include "base/process/child.hpp"
#include "run/result/observation.hpp"
#include "run/stat_plan.hpp"

#include <recount/count.hpp>
#include <recount/group.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace recount::stat {

/// Counts processes and their descendants, or CPUs. Not thread-safe.
class Attached {
public:
  enum class When {
    at_exec, ///< counting begins when the (held) process starts its program
    at_once, ///< counting begins at once, with the existing threads
    stopped  ///< by start(), with the existing threads
  };
  /// Without processes, all that runs on the plan's CPUs is counted, at once or stopped. `inherit`: also what
  /// is started from now on; `threads`: these alone, not all of their processes. Throws Error as Group does.
  Attached(const Plan& plan, const std::vector<pid_t>& pids, When when, bool inherit = true,
           bool threads = false);

  void start();
  void stop();
  /// The counts so far, in the order of the plan's events, summed over threads; the times too.
  [[nodiscard]] std::vector<Count> read();
  /// Of the last read(), which sums them: the counts of each thread (with what it started) or CPU, by its
  /// number.
  [[nodiscard]] const std::map<int, std::vector<Count>>& places() const { return places_; }

private:
  /// A group of the plan on one thread or CPU.
  struct Part {
    std::size_t group;
    int place;
    Group counts;
  };
  void open_cpus();
  void open(std::size_t group, const GroupOptions& options);
  bool attach(pid_t tid, const GroupOptions& options, bool start);

  const Plan& plan_;
  std::vector<Part> parts_;
  std::map<int, std::vector<Count>> places_;
};

// Which part of the run time of a command its counters covered.

/// Counters, and the processor time of the command right before and after they were read; 0 where a process
/// is counted that was not started here.
struct CounterReading {
  std::vector<Count> counts;
  std::chrono::nanoseconds before{0}, after{0};
  std::uint64_t switches = 0; ///< of the command; 0 until it has ended
};

/// Difference between two readings.
struct IntervalCounts {
  std::vector<Count> counts;
  Reason removed;         ///< why nothing was counted, see perf::removed(); empty: counted
  std::string incomplete; ///< what is missing from the counts; empty: nothing known
};
/// Of the whole, from the start of the command. `removed`: the counters certainly were. Pure.
[[nodiscard]] IntervalCounts between(const CounterReading& first, const CounterReading& now,
                                     bool removed = false);
/// Of an interval. `ended`: the command has, so that `now` holds the time of descendants from before as well.
/// Pure.
[[nodiscard]] IntervalCounts between(const CounterReading& first, const CounterReading& from,
                                     const CounterReading& now, bool ended);

/// Adds a flag, unless it is empty, to each row that has a value.
void flag_all(std::span<result::Observation> rows, const std::string& flag);

/// A time interval and its counts.
struct Slice {
  int repetition = 0;                    ///< from 0
  std::optional<int> interval;           ///< from 0; none: the whole repetition
  double begin = 0, end = 0;             ///< seconds since the repetition began
  std::vector<Count> counts;             ///< in the order of the plan's events
  std::vector<result::Observation> rows; ///< evaluate()
  /// Of a whole repetition: the same rows for each CPU, core or thread, by name (Request::place_name).
  std::map<std::string, std::vector<result::Observation>> places = {};
};

/// Reads counters at the ends of intervals. Not thread-safe.
class IntervalCounter {
public:
  using Clock = std::chrono::steady_clock;
  /// Takes the first reading. `command`: the counted command; null when processes or CPUs are counted.
  /// `removed`: see perf::removed_at_exec(). `interval`: 0: only the whole time is counted.
  IntervalCounter(const Plan& plan, Attached& counters, const process::Child* command, bool removed,
                  std::chrono::milliseconds interval);

  [[nodiscard]] Clock::time_point begin() const { return begin_; }
  /// The end of the current interval; none: there are no intervals.
  [[nodiscard]] std::optional<Clock::time_point> due() const {
    return interval_.count() > 0 ? std::optional(due_) : std::nullopt;
  }
  /// Closes the current interval. `ended`: the command has.
  [[nodiscard]] Slice next(bool ended);
  /// From the first reading to the end of the last closed interval.
  [[nodiscard]] Slice total() const;

private:
  [[nodiscard]] Slice slice(Clock::time_point from, IntervalCounts counted) const;

  const Plan& plan_;
  Attached& counters_;
  const process::Child* command_;
  bool removed_;
  std::chrono::milliseconds interval_;
  CounterReading first_, last_;
  Clock::time_point begin_, last_end_, due_;
  int number_ = 0;
};

} // namespace recount::stat
