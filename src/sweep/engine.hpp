// Executes a plan: every run in a fresh process, results handed over as they are made.
#pragma once

#include "result/observation.hpp"
#include "result/results_file.hpp"
#include "sweep/sweep_plan.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace recount::sweep {

/// How to execute a plan.
struct Execution {
  /// The program that serves a run: reads a request on stdin, writes result lines to stdout (serve.hpp).
  std::vector<std::string> program{"/proc/self/exe", "run-point"};
  std::string run;                         ///< id that observations will carry
  std::optional<int> cpu;                  ///< pinned to it; absent: not pinned
  std::chrono::milliseconds limit{60'000}; ///< a timed run that takes longer is killed and recorded as failed
  std::optional<std::chrono::milliseconds>
      model_limit;        ///< the same of a model run, in CPU time; absent: none
  bool temporary = false; ///< each timed run has a folder for temporary files (TMPDIR), removed at its end
  int parallel = 1;       ///< model runs at a time; timed ones are always alone
};

/// How far a sweep is.
struct Progress {
  std::size_t done = 0, total = 0; ///< runs
  std::size_t failed = 0;
  std::chrono::nanoseconds elapsed{};
  std::optional<std::chrono::nanoseconds> remaining; ///< estimate; absent until something is known
  const Job* job = nullptr;                          ///< the last one that ended, or one under way
  std::optional<double> simulated;                   ///< share of `job` that is simulated, if reported
};

/// What the engine calls, from its own thread, never while a timed run is under way. Any may be empty.
struct Listener {
  std::function<void(const result::Observation&)> observation;
  std::function<void(const result::Failure&)> failure;
  std::function<void(const Progress&)> progress; ///< after each run, and each second of a long simulation
  std::function<bool()> stop;                    ///< true: end after killing what is in flight; called often
};

/// A model run that was under way when the sweep was stopped.
struct Unfinished {
  Job job;
  double simulated = 0; ///< share of the simulation that was done
};

/// How it ended.
struct Outcome {
  std::size_t observations = 0, failures = 0, runs = 0;
  bool stopped = false;               ///< by Listener::stop
  std::vector<Unfinished> unfinished; ///< when it was stopped
  std::chrono::nanoseconds elapsed{}; ///< of the whole
  /// Per run, what its process took beside preparing, warming and measuring the kernel.
  std::vector<std::chrono::nanoseconds> overheads;
};

/// Executes the jobs in order, whatever their kernels. A run that crashes, hangs past its limit or answers
/// invalid lines is a Failure and the sweep goes on. Exceptions from the listener (disk full) kill what is in
/// flight and pass through. One sweep at a time in a process.
Outcome execute(const std::vector<Job>& jobs, const Execution& how, const Listener& listener);

/// The jobs that a file does not yet hold: each is left with the metrics that are missing. A failure of a
/// job counts as its result.
[[nodiscard]] std::vector<Job> remaining(const std::vector<Job>& jobs, const result::Results& there);

/// Takes --timeout, in seconds: the wall time of a timed run (`otherwise`, where it is empty) and the CPU
/// time of a model run (no limit, where it is empty).
void limit_runs(Execution& how, const std::string& timeout, std::chrono::seconds otherwise);

// How far a sweep is: one line on a terminal, a line a minute elsewhere.

/// "12 s", "3 min 20 s", "2 h 5 min".
[[nodiscard]] std::string show_time(std::chrono::nanoseconds time);

/// The same of any number of seconds.
[[nodiscard]] std::string format_seconds(double seconds);

/// "37 of 120 runs, 2 failed, 12 s, about 25 s left".
[[nodiscard]] std::string show_progress(const sweep::Progress& progress);

/// Writes to stderr. On a terminal the line is written over itself, ten times a second at most.
class ProgressLine {
public:
  explicit ProgressLine(bool quiet, std::string command = "sweep");
  void show(const sweep::Progress& progress);
  void clear(); ///< before anything else is written to the terminal

private:
  std::string command_;
  bool quiet_, terminal_, shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

} // namespace recount::sweep
