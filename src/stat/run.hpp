// Running a command, or waiting for processes, while a plan's events count.
#pragma once

#include "process/child.hpp"
#include "result/observation.hpp"
#include "stat/plan.hpp"

#include <chrono>
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
  std::vector<Slice> repetitions;
  std::optional<process::Exit> exit; ///< of the command: the last that failed, else the last
  int signal = 0;                    ///< that ended the waiting or the repetitions; 0: none
  void keep(const process::Exit& of) {
    if (!exit || !of.ok() || exit->ok()) exit = of;
  }
};

/// Rows that were not counted although possible, and incomplete counts: one line each, with the row names.
[[nodiscard]] std::vector<std::string> warnings(const Plan& plan, const Slice& slice);

/// Called with each interval and, after its intervals, each repetition. Its exceptions are rethrown after the
/// command has ended.
using Listener = std::function<void(const Slice&)>;

/// Counts. The command has this process's terminal, standard input and output; a terminal's Ctrl-C reaches
/// both, and this waits for the command; signals from other processes are forwarded. Throws
/// Error as Attached does, process::CannotRun for the command.
[[nodiscard]] RunResult run(const Plan& plan, const Request& request, const Listener& listener);

/// A row over all repetitions. Of ratios, too, the mean is that of the repetitions' ratios.
struct Summary {
  std::vector<double> values;      ///< of the repetitions that have one
  std::optional<double> mean;      ///< none: no repetition has a value
  std::optional<double> deviation; ///< standard deviation of a sample; none with fewer than two values
  double share = 1;                ///< scheduled share of the time: minimum over repetitions
  std::size_t missing = 0;         ///< repetitions without value
  std::string reason;              ///< the first reason why
  std::vector<std::string> flags;  ///< each once
};

/// Over the same row of each slice.
[[nodiscard]] Summary summarise(std::span<const Slice> slices, std::size_t row);
/// Over given values.
[[nodiscard]] Summary summarise(std::vector<double> values);

} // namespace recount::stat
