// Executes jobs: every run in a fresh process, results handed over as they are made.
#pragma once

#include "run/result/observation.hpp"
#include "run/sweep_plan.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace recount::sweep {

/// How far a sweep is.
struct Progress {
  std::size_t done = 0, total = 0; ///< runs
  std::size_t failed = 0;
  std::chrono::nanoseconds elapsed{};
  std::optional<std::chrono::nanoseconds> remaining; ///< estimate; absent until something is known
  const Job* job = nullptr;                          ///< the last one that ended, or one under way
  std::optional<double> simulated;                   ///< share of `job` that is simulated, if reported
};

/// "37 of 120 runs, 2 failed, 12 s, about 25 s left".
[[nodiscard]] std::string show_progress(const Progress& progress);

/// How to execute a plan.
struct Execution {
  /// The program that serves a run: reads a request on stdin, writes result lines to stdout (see serve()).
  std::vector<std::string> program{"/proc/self/exe", "run-point"};
  std::string run;                         ///< id that observations will carry
  std::optional<int> cpu;                  ///< pinned to it; absent: not pinned
  std::chrono::milliseconds limit{60'000}; ///< a timed run that takes longer is killed and recorded as failed
  std::optional<std::chrono::milliseconds>
      model_limit;  ///< the same of a model run, in CPU time; absent: none
  int parallel = 1; ///< model runs at a time; timed ones are always alone
};

/// What the engine calls, from its own thread, never while a timed run is under way. Any may be empty.
struct Listener {
  std::function<void(const result::Observation&)> observation;
  std::function<void(const result::Failure&)> failure;
  std::function<void(const Progress&)> progress;   ///< after each run, and each second of a long simulation
  std::function<void(const std::string&)> further; ///< before more runs than planned: why they follow
  std::function<bool()> stop; ///< true: end after killing what is in flight; called often
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
Outcome execute(const std::vector<Job>& jobs, const Execution& execution, const Listener& listener);

/// Takes --timeout, in seconds: the wall time of a timed run (by default `default_timeout`) and the CPU time
/// of a model run (by default without limit).
void limit_runs(Execution& execution, const std::string& timeout, std::chrono::seconds default_timeout);

} // namespace recount::sweep
