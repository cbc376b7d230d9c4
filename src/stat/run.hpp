// Running a command, or waiting for processes, while a plan's events count.
#pragma once

#include "process/child.hpp"
#include "process/waiter.hpp"
#include "result/observation.hpp"
#include "stat/plan.hpp"

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace recount::stat {

struct Request {
  std::vector<std::string>
      command;             ///< may be empty with pids and CPUs; it is then not counted, only waited for
  std::vector<pid_t> pids; ///< empty: the command is counted, or the plan's CPUs
  int repeat = 1;
  std::chrono::milliseconds interval{0}; ///< 0: only whole repetitions
  std::string section = {};              ///< a model simulates only this one; empty: everything
  std::string from = {}, to = {};        ///< and only between these functions, see trace::FunctionRange
  long sample = 0;                       ///< of so many windows of accesses, a model simulates one; 0: all
  bool ignore_failure = false;           ///< a run of the command that fails is a repetition, too
};

/// A time interval and its counts.
struct Slice {
  int repetition = 0;                    ///< from 0
  std::optional<int> interval;           ///< from 0; none: the whole repetition
  double begin = 0, end = 0;             ///< seconds since the repetition began
  std::vector<Count> counts;             ///< in the order of the plan's events
  std::vector<result::Observation> rows; ///< evaluate()
};

struct RunResult {
  int requested = 1;                 ///< runs
  std::vector<Slice> repetitions;    ///< runs that completed, or the only requested one, then flagged
  std::optional<process::Exit> exit; ///< of the command: the last that failed, else the last
  int signal = 0;                    ///< that ended the waiting or the repetitions; 0: none
  bool cut_short = false;            ///< the last run was interrupted (`signal`) or failed (`exit`)
  std::size_t failed = 0;            ///< repetitions that failed (Request::ignore_failure)
  std::exception_ptr error = {};     ///< thrown by the listener: it was not called again, no run followed
  [[nodiscard]] std::size_t completed() const { return cut_short && requested == 1 ? 0 : repetitions.size(); }
  /// Whether another run may follow.
  [[nodiscard]] bool goes_on() const { return !cut_short && signal == 0 && !error; }
  void keep(const process::Exit& of) {
    if (!exit || !of.ok() || exit->ok()) exit = of;
  }
};

/// "interrupted: killed by signal 2 (SIGINT)", "exit status 1"; empty: not cut short.
[[nodiscard]] std::string how_cut_short(const RunResult& ended);
/// "interrupted: 1 of 5 runs completed"; of a single run how_cut_short(). Empty: not cut short.
[[nodiscard]] std::string completed_text(const RunResult& ended);
/// The fix of a run that failed.
inline constexpr const char* keep_failures = "-i also counts runs that fail";
/// The flag of the values of a single run that was cut short; else empty.
[[nodiscard]] std::string cut_short_flag(const RunResult& ended);
/// The exit status of recount: of the command; of several runs that were interrupted, 128 + the signal.
[[nodiscard]] int status_of(const RunResult& ended);

/// Rows that were not counted although possible, and incomplete counts: one line each, with the row names.
[[nodiscard]] std::vector<std::string> warnings(const Plan& plan, const Slice& slice);

/// Called with each interval and, after its intervals, each repetition.
using Listener = std::function<void(const Slice&)>;

/// Counts. The command has this process's terminal, standard input and output; a terminal's Ctrl-C reaches
/// both, and this waits for the command; signals from other processes are forwarded. A run that was
/// interrupted or failed is the last one and no repetition. Throws Error as Attached does, process::CannotRun
/// for the command.
[[nodiscard]] RunResult run(const Plan& plan, const Request& request, const Listener& listener,
                            const process::HeldSignals& signals = {});

/// Calls the listener until it throws, and keeps what it threw.
[[nodiscard]] Listener guard(const Listener& listener, std::exception_ptr& error);
/// Adds a run to the result; `exit`: of the command.
void take(RunResult& ended, const Request& request, Slice slice, const std::optional<process::Exit>& exit,
          const Listener& listener);

/// A row over all repetitions. Of ratios, too, the mean is that of the repetitions' ratios.
struct Summary {
  std::vector<double> values;      ///< of the repetitions that have one
  std::optional<double> mean;      ///< none: no repetition has a value
  std::optional<double> deviation; ///< standard deviation of a sample; none with fewer than two values
  double share = 1;                ///< scheduled share of the time: minimum over repetitions
  std::size_t missing = 0;         ///< repetitions without value
  std::string reason;              ///< the first reason why
  std::vector<Flag> flags;         ///< each once
};

/// Over the same row of each slice.
[[nodiscard]] Summary summarise(std::span<const Slice> slices, std::size_t row);
/// Over given values.
[[nodiscard]] Summary summarise(std::vector<double> values);

} // namespace recount::stat
